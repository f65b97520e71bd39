#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdint.h>

/*
 * Programs of ralph's own in a live sandbox: the self-test's probe. They are executed from sealed
 * memory that is handed in with the command, so nothing of them lies inside, no sandbox pays a
 * mount for them, and nothing inside can put another program in their place. Their output is still
 * hostile: they run beside the agent.
 */
struct inside {
	const char *program; /* in libexec; NULL: argv is a command of the sandbox's own */
	const struct strv *argv;
	const struct strv *expected; /* hosts that it asks for and is refused; NULL: none */
	int input;		     /* stdin of the program; -1: nothing */
	int conn; /* a connection that has no command yet; -1: a new one. Stays the caller's. */
	uint64_t timeout_ms;
};

/* Runs it in NAME and collects stdout, as much as the buffer may hold (more is an error);
 * *ret_code is as the shell counts. -ESRCH when the sandbox is not live. Where the sandbox ends
 * with its command, it has ended when this returns. */
int inside_run(const struct places *p, const char *name, const struct inside *in, struct buf *out,
	       int *ret_code, struct err *err);
