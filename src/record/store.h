#pragma once

/*
 * ROOM: record
 *
 * Where sandboxes and loops are written down: directories, names, locks, sockets. What is in a
 * sandbox and who may enter it is decided elsewhere.
 */

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * The records of sandboxes: PLACES/state/sandboxes/NAME/ with home/, spec.json, events.jsonl (and
 * what belongs to it, see events.h), `workspace` (a link to whose sandbox it is) and `lock`.
 *
 * Two locks: the directory's own is held by whoever starts or removes the sandbox; that of the
 * file `lock` by its supervisor, or by who takes its place for a moment, for as long as anything
 * of the sandbox may exist. That file is executable while a supervisor runs: who gets the lock and
 * finds it so knows that the supervisor was killed. Few files, because `run --rm` makes and
 * removes them all.
 */
struct store_entry {
	char *name;
	int dir;  /* descriptor of the directory */
	int lock; /* the directory's lock, held; -1: not */
	int live; /* the file's lock, held; -1: not */
};

/* Opens NAME's directory; -ENOENT when there is none, with create -ESTALE when it was removed at
 * the same moment. */
int store_open(const struct places *p, const char *name, bool create, struct store_entry *ret,
	       struct err *err);
void store_close(struct store_entry *e);

/*
 * Takes the lock, and checks that the directory is still the one of that name: -ESTALE means that
 * it was removed meanwhile, and the caller starts over.
 */
int store_lock(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err);
int store_lock_live(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err);

/* The mark of a running supervisor, on the live lock that is held. */
void store_mark(const struct store_entry *e, bool running);
bool store_was_killed(const struct store_entry *e);

/* Whose the record is, for good; at its first start. */
int store_write_owner(const struct store_entry *e, const char *workspace, struct err *err);
int store_write_spec(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err);
/* The same, where the text is there already. */
int store_write_spec_text(const struct store_entry *e, const char *text, size_t len);
/* -ENOENT when the record has none (yet). */
int store_read_spec(const struct store_entry *e, struct sandbox_spec **ret, struct err *err);
/*
 * Makes the links and files of the spec in the record's home. The agent may have put anything in
 * their way: nothing is followed, and what is there is replaced unless it is a directory; but a
 * seed (SPEC_HOME_SEED) is made only where there is nothing.
 */
int store_fill_home(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err);
/*
 * Removes the whole record in two steps; the caller holds the live lock. After the first, which is
 * one rename, the name is free; *ret_doomed (NULL: there was nothing) is for the second, which may
 * take a while.
 */
int store_detach(const struct places *p, const char *name, char **ret_doomed, struct err *err);
int store_destroy(const struct places *p, const char *doomed, struct err *err);
int store_remove(const struct places *p, const char *name, struct err *err); /* both */
/* All names, sorted. What a removal that was killed left is removed on the way. */
int store_list(const struct places *p, struct strv *out, struct err *err);
/* One of that list that was removed since. */
bool store_is_gone(const struct places *p, const char *name);
int store_names(const struct places *p, struct strv *out, struct err *err); /* removes nothing */

/* What killed removals left, as store_list() would remove it; as paths. */
int store_leftovers(const struct places *p, struct strv *out, struct err *err);

/* Whose sandbox NAME is: the path of its workspace; NULL when there is no such record. */
char *store_owner(const struct places *p, const char *name);
/* The path of NAME's home on the host, and of its clone, where it works in one. */
char *store_home(const struct places *p, const char *name);
char *store_clone(const struct places *p, const char *name);

#define cleanup_store cleanup_(store_close)
#define STORE_ENTRY_INIT                                                                           \
	{                                                                                          \
		.dir = -1, .lock = -1, .live = -1                                                  \
	}
