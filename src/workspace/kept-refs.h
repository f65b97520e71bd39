#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * For engines that show the git directory as it is: what references, HEAD, the index and the list
 * of stashes were at the last look lies in the sandbox's record. When no command runs, they are
 * compared with it: a branch that went on counts, the rest is put back, and what it had become is
 * held below refs/ralph/NAME. In the sandbox of a loop everything is put back: the loop judges what is
 * held. `repo` does both (repo/put-back.c).
 */

/* Writes the record; dir: the sandbox's. Does nothing where another engine covers the directory. */
int kept_refs_write(const struct sandbox_spec *spec, const struct places *places, int dir,
		    struct err *err);
/* *ret: sentences for the user, an array; the caller frees it. Then the record is that of now. */
int kept_refs_put_back(const struct sandbox_spec *spec, const struct places *places, int dir,
		       json_t **ret, struct err *err);
/* The loop has moved its branch, and the index with it, while no command runs. */
int kept_refs_advance(const struct sandbox_spec *spec, int dir, const char *ref, const char *to,
		      struct err *err);
/* The sandbox has ended. */
void kept_refs_forget(const struct sandbox_spec *spec, const struct places *places, int dir);
