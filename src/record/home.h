#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"
#include "record/store.h"
#include "spec/spec.h"

/*
 * Homes. A project (a git common directory, else a workspace) has one home, PLACES/state/homes/KEY,
 * that its interactive sandboxes share and that outlives them. A worker of a loop, and a sandbox
 * that is removed when it stops, have a home of their own in their record. Beside the home of a
 * project lie:
 *
 *	KEY.project	 a link to the project, which says whose home it is
 *	KEY.lock	 held shared while a sandbox with this home lives, else while it changes
 *	KEY.piped	 a sandbox with a login of way pipe had this home, see live/login-left.h
 *	KEY.values, KEY.exported.json	 see live/autosave.h
 *
 * Homes that ralph 0.2 kept for each sandbox, and of which the project's home did not need
 * everything, are in homes/old/NAME. Everything in a home is hostile: links are not followed.
 */
#define HOME_KEY_DIGITS 16
#define HOME_OF_WORKER "worker-home" /* in a record */
#define HOME_ONCE "once-home"
#define HOME_OF_CHECKS "checks-home" /* see live/home-checks.h */
#define HOME_PREPARED "prepared-home"

/* NAME-DIGITS: the name of the project's directory and the beginning of its instance key. Pure. */
char *home_key(const char *project, const char *instance);
bool home_is_key(const char *name);

char *home_dir(const struct places *p);
char *home_path(const struct places *p, const char *key);
/* The path of what lies beside it: home_beside(p, key, "lock"). */
char *home_beside(const struct places *p, const char *key, const char *what);

/* The home of a sandbox on the host; record: the path of its record. spec may be NULL. */
char *home_of(const struct places *p, const char *record, const struct sandbox_spec *spec);
/* The home that is mounted: for the checks of a loop another one than that of its agents. */
char *home_mounted(const struct places *p, const char *record, const struct sandbox_spec *spec);
/* The home of a sandbox, where a container's agents keep their memory in a volume. */
char *home_memory(const struct places *p, const char *record, const struct sandbox_spec *spec);

/* Opens the home of a sandbox, which must be there. -errno */
int home_open(const struct places *p, const struct store_entry *e, const struct sandbox_spec *spec);

/*
 * Locks the project's home for a sandbox that has it: alone when no other has it, else shared. The
 * lock is released when the last copy of *ret is closed.
 */
int home_lock(const struct places *p, const char *key, int timeout_ms, int *ret, bool *ret_alone,
	      struct err *err);
/* -EBUSY: a live sandbox has this home. */
int home_lock_alone(const struct places *p, const char *key, int timeout_ms, int *ret,
		    struct err *err);
/* From alone to shared. -ESTALE: the home was removed in between. */
int home_share(const struct places *p, const char *key, int lock, struct err *err);

/* Makes the home where there is none, and writes whose it is. Another project's is an error. */
int home_make(const struct places *p, const char *key, const char *project, struct err *err);
/* Links a record to its project's home, for people and their scripts: sandboxes/NAME/home. */
void home_link(const struct store_entry *e, const char *key);
/* Removes the home and what lies beside it, volumes included; the caller holds the lock alone. */
int home_remove(const struct places *p, const char *key, struct err *err);
/* A project has another key from now on; the caller holds both locks alone, and there is no home `to`.
 * One that is killed goes on with the next call. */
int home_rename(const struct places *p, const char *from, const char *to, struct err *err);
/* The project of a home; NULL: not known. */
char *home_project(const struct places *p, const char *key);

/* Lists the keys of all homes, and the names in homes/old, sorted. */
int home_list(const struct places *p, struct strv *ret, struct err *err);
int home_list_old(const struct places *p, struct strv *ret, struct err *err);
/* Paths in the volumes of containers that no project's home has: 0.2 kept one home for all. */
int home_list_volumes(const struct places *p, struct strv *ret, struct err *err);
/* Lists the paths of homes whose removal was killed. */
int home_leftovers(const struct places *p, struct strv *ret, struct err *err);
