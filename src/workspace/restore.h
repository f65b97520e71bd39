#pragma once

#include "workspace/findings.h"
#include "spec/spec.h"

/*
 * For engines that show the workspace as it is: what is read-only in others is kept as it was at
 * the start (SPEC_PUT_BACK), and put back whenever it is something else. What stood there instead
 * goes to quarantine, whoever wrote it: from outside, the sandbox's writes and the user's look the
 * same. What lies in SPEC_OWN is left alone.
 *
 * The copies lie in the sandbox's record until a look at the end of the sandbox, also that of one
 * whose supervisor was killed.
 */
struct restore;

/* dir: the record, for the caller to close. Copies everything: before anything runs inside. *ret is
 * NULL where there is nothing to be put back. The spec must outlive it. */
int restore_new(const struct sandbox_spec *spec, int dir, struct restore **ret, struct err *err);
/* Of a sandbox that was left: its copies as they are there; NULL: there are none. */
struct restore *restore_open(const struct sandbox_spec *spec, int dir);
struct restore *restore_free(struct restore *p);
DEFINE_FREEP(struct restore, restore_free)

/* Adds what was put back. keep: what stood there goes to quarantine, else it is removed. */
void restore_look(struct restore *p, const struct places *places, bool keep, struct findings *out);
/* The copies are not needed any more. */
void restore_forget(int dir);

/* Is this path kept, or in a directory that is, and so nobody else's to look at? */
bool restore_has(const struct sandbox_spec *spec, const char *path);
