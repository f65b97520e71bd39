#pragma once

#include "guest/guest.h"

/* What a payload that could not be started leaves in the pipe to its minder. */
struct payload_failure {
	int eno;
	struct err err;
};

/*
 * Becomes the command of a WIRE_SPAWN frame; r stands behind its size fields. The descriptors are
 * those of the frame, or three times a terminal. On failure the pipe says why.
 */
_Noreturn void payload_run(const struct guest *g, struct wire_reader *r, const int fds[3],
			   bool terminal, int pipe);
