#pragma once

/*
 * ROOM: loop/prepare
 *
 * The commands of loop.setup, which prepare a sandbox for the work.
 */

#include "loop/loop.h"

/*
 * DOC: Theory of operation
 *
 * The commands run when the inputs of their last run are others: the commands themselves, the sandbox's
 * record, files in the project that say what is to be installed (inputs.c), and files that a command
 * names. They run in an empty home, in a sandbox in which nothing else ran (live/home-checks.h). Each
 * run of the checks begins with a copy of that home, and so do the agents after a new preparation. A
 * home that was prepared while files were not committed does not serve for the checks: those files
 * could have made it.
 *
 * state.setup has {"done": {sandbox: inputs of the agents' home}, "prepared": {sandbox: {"inputs",
 * "loose"}}, "runs", "ms", "failed": what the next prompt says}. The time of setup is not a part of an
 * iteration's.
 *
 * A failure before the first iteration ends the loop: the user's own project cannot be prepared. Later
 * it is the agent's change that cannot: the checks count as failed, and the next prompt says so.
 *
 * Where the home of the sandbox is the engine's own (l->shared) the commands run in the agent's.
 */

/* Each returns -ECANCELED when the user stopped the loop. */
/* Prepares the agents' home; their sandbox is built and has not started. */
int prepare_home(struct loop *l, struct err *err);
/* Prepares the home of the checks. exact: of a commit. Returns 1 when the commands fail; *ret_said is
 * how, and the caller frees it. */
int prepare_checks(struct loop *l, bool exact, char **ret_said, struct err *err);
/* Prepares the agents' sandbox, which has started, in the home that it has. */
int prepare_in_place(struct loop *l, struct err *err);
/* The error that ends a loop which cannot be prepared; shows what was said. */
int prepare_refuse(struct loop *l, const char *said, struct err *err);
/* Returns the output of a preparation that failed, for the prompt; NULL: none did. Borrowed. */
const char *prepare_failure(const struct loop *l);

/* inputs.c: hash of everything that a preparation depends on; false: a part of it cannot be read. */
#define PREPARE_HASH_LEN 65
bool prepare_inputs(const struct loop *l, char ret[PREPARE_HASH_LEN]);
