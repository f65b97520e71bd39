#pragma once

/*
 * ROOM: record
 *
 * The records of sandboxes and loops on disk: directories, names, locks, sockets. The content of a
 * sandbox and the access to it are decided elsewhere.
 */

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * The records of sandboxes: PLACES/state/sandboxes/NAME/ with spec.json, events.jsonl (and its other
 * files, see events/events.h), `workspace` (a link to the workspace that owns it), `lock`, and
 * a home of its own or `home` (a link to the project's home, see record/home.h).
 *
 * There are two locks. A command that starts or removes the sandbox holds the lock of the
 * directory. The supervisor holds the lock of the file `lock` as long as anything of the sandbox
 * may exist; another process may take its place for a moment. The file is executable while a
 * supervisor runs: a process that gets the lock and finds it executable knows that the supervisor
 * was killed. There are few files, because `run --rm` creates and removes them all.
 */
struct store_entry {
	char *name;
	int dir;  /* descriptor of the directory */
	int lock; /* the directory's lock if held; -1: not held */
	int live; /* the file's lock if held; -1: not held */
};

/* Opens NAME's directory; -ENOENT without one, with create -ESTALE when it was removed at the
 * same moment. */
int store_open(const struct places *p, const char *name, bool create, struct store_entry *ret,
	       struct err *err);
void store_close(struct store_entry *e);

/*
 * Takes the lock, and checks that the directory still has that name: -ESTALE means that it was
 * removed meanwhile, and the caller starts over.
 */
int store_lock(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err);
int store_lock_live(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err);

/* Sets the mark of a running supervisor, on the held live lock. */
void store_mark(const struct store_entry *e, bool running);
bool store_was_killed(const struct store_entry *e);

/* Marks the record as that of a worker on another machine: nothing is started from it here. */
int store_mark_placed(const struct store_entry *e, struct err *err);
bool store_is_placed(const struct store_entry *e);
/* Writes the owner of the record at its first start; it never changes. */
int store_write_owner(const struct store_entry *e, const char *workspace, struct err *err);
int store_write_spec(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err);
/* Like store_write_spec(), for a spec that is already text. */
int store_write_spec_text(const struct store_entry *e, const char *text, size_t len);
/* The spec that the user last agreed to. Reading it fails where there is none: then the user is asked. */
int store_write_agreed(const struct store_entry *e, const struct sandbox_spec *spec,
		       struct err *err);
int store_read_agreed(const struct store_entry *e, struct sandbox_spec **ret, struct err *err);
/* -ENOENT when the record has no spec (yet). */
int store_read_spec(const struct store_entry *e, struct sandbox_spec **ret, struct err *err);
/*
 * Removes the whole record in two steps; the caller holds the live lock. The first step is a
 * rename, which frees the name. *ret_doomed (NULL: there was nothing) is for the second step, which
 * may take a while.
 */
int store_detach(const struct places *p, const char *name, char **ret_doomed, struct err *err);
int store_destroy(const struct places *p, const char *doomed, struct err *err);
int store_remove(const struct places *p, const char *name, struct err *err); /* both steps */
/* Lists all names, sorted. It also removes the remains of killed removals. */
int store_list(const struct places *p, struct strv *out, struct err *err);
/* True when a listed sandbox was removed since. */
bool store_is_gone(const struct places *p, const char *name);
int store_names(const struct places *p, struct strv *out, struct err *err); /* removes nothing */
/* Is a sandbox other than those that are being removed live, or was its supervisor killed? A look
 * that fails says yes. */
bool store_any_lives(const struct places *p);

/* True for ".NAME.PID" of a dead process: a removal that was killed. */
bool store_is_leftover(const char *entry);
/* Lists the paths of remains of killed removals, which store_list() would remove. */
int store_leftovers(const struct places *p, struct strv *out, struct err *err);

/* Returns the workspace that owns sandbox NAME; NULL when there is no such record. */
char *store_owner(const struct places *p, const char *name);
/* Returns the path of NAME's record on the host, or of its clone, if it works in one. */
char *store_record(const struct places *p, const char *name);
char *store_clone(const struct places *p, const char *name);
char *store_git(const struct places *p, const char *name);	  /* its private git directory */
char *store_checks_git(const struct places *p, const char *name); /* that of a loop's checks */

#define cleanup_store cleanup_(store_close)
#define STORE_ENTRY_INIT                                                                           \
	{                                                                                          \
		.dir = -1, .lock = -1, .live = -1                                                  \
	}
