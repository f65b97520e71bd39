#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "record/places.h"

/*
 * Things that were taken out of a workspace because the host would have run them: PLACES/state/
 * quarantine/ID/ with `content` (the thing itself) and meta.json (where it was, whose it was, why,
 * when). Nothing in it is ever executed, and links in it are not followed.
 */
#define QUARANTINE_ID_LEN 8
/* Git directories that appeared lie apart (nested.h): nobody judged them, and they may be the user's. */
#define SHELF_NESTED_NAME "nested"
enum shelf { SHELF_QUARANTINE, SHELF_NESTED };
/* What cannot be moved, because it is too large for another file system, gets this name and its id
 * where it was, and no rights. */
#define QUARANTINE_BESIDE ".ralph-quarantine-"

struct quarantine_input {
	enum shelf shelf;
	const char *root; /* a directory that holds path, whose own name the agent cannot change */
	const char *path; /* below it */
	const char *why, *sandbox;
	const char *link; /* a link that stood there before, to be put back; NULL: none */
};

/* Moves it; *ret_id is the caller's. 1: it could not be moved, and is disarmed where it is. -ENOENT
 * when it is gone already. */
int quarantine_add(const struct places *p, const struct quarantine_input *in, char **ret_id,
		   struct err *err);
/* Removes it instead, where there is too much of it. */
int quarantine_discard(const struct quarantine_input *in, struct err *err);
/* The ids, oldest first. */
int quarantine_list(const struct places *p, enum shelf shelf, struct strv *out, struct err *err);
/* Its meta.json; -ENOENT names the id. */
int quarantine_meta(const struct places *p, enum shelf shelf, const char *id, json_t **ret,
		    struct err *err);
/* A descriptor of its directory, for looking at `content`. */
int quarantine_open(const struct places *p, enum shelf shelf, const char *id, struct err *err);
/* Puts it back where it was; what stands there by now stays, and is an error. */
int quarantine_release(const struct places *p, enum shelf shelf, const char *id, struct err *err);
int quarantine_drop(const struct places *p, enum shelf shelf, const char *id, struct err *err);
/* From the shelf of git directories to the other one: what it holds is not needed any more. */
int quarantine_keep(const struct places *p, const char *id, struct err *err);
