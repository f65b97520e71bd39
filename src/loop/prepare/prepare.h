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
 * The commands run inside, when a sandbox of the loop has started and its last preparation had other
 * inputs: the commands themselves, the sandbox's record, files in the project that say what is to be
 * installed (inputs.c), and files that a command names. state.setup has {"done": {sandbox: hash}, "runs",
 * "ms", "failed": what the next prompt says}. Their time is not a part of an iteration's.
 *
 * A failure before the first iteration ends the loop: the user's own project cannot be prepared. Later
 * it is the agent's change that cannot, and its next prompt says so.
 */

/* Prepares the sandbox that was started. Returns -ECANCELED when the user stopped the loop. */
int prepare_sandbox(struct loop *l, struct err *err);
/* Returns the output of a preparation that failed, for the prompt; NULL: none did. Borrowed. */
const char *prepare_failure(const struct loop *l);

/* inputs.c: hash of everything that a preparation depends on; false: a part of it cannot be read. */
#define PREPARE_HASH_LEN 65
bool prepare_inputs(const struct loop *l, char ret[PREPARE_HASH_LEN]);
