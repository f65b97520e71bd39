#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes the conversations of all agents from one home to another: the files that an agent's row
 * names (agent/agent.h, sessions), and nothing else that a session may have left. Both homes are
 * hostile: only regular files are taken, no link is followed on either side, and a file that is
 * there already stays. Copies are bounded, and keep the time of the last change.
 */
#define CONVERSATIONS_FILES_MAX 10000
#define CONVERSATIONS_FILE_MAX (256ULL << 20)	/* a larger one is left, and counted */
#define CONVERSATIONS_BYTES_MAX (2048ULL << 20) /* of all copies; moves take no room */

struct conversations {
	size_t taken, left; /* files; left: too large, too many, or of the wrong kind */
};

/* move: within one file system, in one step for each file. 0, or the first error; what was taken
 * until then is there. */
int conversations_take(int from, int to, bool move, struct conversations *ret, struct err *err);
