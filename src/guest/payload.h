#pragma once

#include "guest/guest.h"

/* The message in the pipe to the minder when a payload could not be started. */
struct payload_failure {
	int eno;
	struct err err;
};

/*
 * Becomes the command of a WIRE_SPAWN frame; r stands behind its size fields. The descriptors are
 * those of the frame, or three times a terminal; program, unless it is -1, is a memory file to
 * execute. On failure the pipe says why.
 */
struct payload_fds {
	int stdio[3];
	bool terminal;
	int program, pipe;
};
/* A program to run by descriptor must be sealed memory; -1: there is none. */
int payload_check_program(int fd, struct err *err);
_Noreturn void payload_run(const struct guest *g, struct wire_reader *r,
			   const struct payload_fds *fds);
