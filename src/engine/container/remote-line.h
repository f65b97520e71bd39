#pragma once

#include "base/err.h"
#include "base/proc.h"
#include "base/strv.h"

/*
 * This machine's end of a line to a guest on another one (wire/remote.h): a fork that speaks frames
 * with descriptors on one side, and on the other runs the engine's program, one that is attached to
 * the outpost and one for each command.
 */
struct remote_words {
	const char *program;	       /* the engine's */
	const char *outpost;	       /* name of its container */
	const struct strv *client_env; /* of the program */
};

/* *ret_line speaks as a guest does, but for WIRE_REMOTE_STEP, which comes first, and WIRE_REMOTE_GATE.
 * The end of *ret is the end of the sandbox, and the end of the line is its end. */
int remote_start(const struct remote_words *w, int *ret_line, struct child *ret, struct err *err);
