#pragma once

#include "cli/frame/command.h"
#include "record/places.h"
#include "spec/spec.h"

/* The state that `ralph diff` and `ralph apply` share: both read commits from a sandbox's clone. */
struct clone {
	struct places places;
	struct sandbox_spec *spec; /* of the sandbox; it has a clone */
};

int clone_open(struct cli *cli, const char *name, struct clone *ret);
void clone_done(struct clone *c);

/*
 * Starts git inside, which writes what the user's repository does not have, and libexec/ralph/repo
 * with `args` (NULL at the end), which reads it. Its stdout is ours, or captured where ret_out is
 * not NULL: the caller frees it. With `work` the branch that the clone is on includes what is not
 * committed.
 */
int clone_take(struct cli *cli, const struct clone *c, const char *const *args, bool work,
	       char **ret_out);
/* How many files of the clone are not committed, as git inside says; and commits them there. */
int clone_uncommitted(struct cli *cli, const struct clone *c, uint64_t *ret);
int clone_commit(struct cli *cli, const struct clone *c);

#define cleanup_clone cleanup_(clone_done)
