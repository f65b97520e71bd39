#pragma once

/*
 * ROOM: cli/terminal
 *
 * The user's terminal: attaching it to a command, filtering what comes from inside, questions, a
 * screen.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "cli/terminal/filter.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One command in a live sandbox, with this process's stdin, stdout and stderr. They are handed in
 * as descriptors, so that no byte is copied here, except where one is a terminal (never handed in:
 * a pty of the sandbox, or a pipe, takes its place) or a regular file on a kernel whose Landlock
 * cannot keep it from being opened again with more rights (a pipe takes its place).
 */
struct attach {
	const struct strv *argv, *env;
	bool inherit;	  /* env adds to the sandbox's own, and cwd may be "": its workspace */
	const char *user; /* NULL: the sandbox's own */
	const char *cwd;
	bool tty;
	bool no_typing;		  /* a terminal at stdin is no input: the command finds it empty */
	enum filter_wish allowed; /* to the user's terminal */
	struct strv *refused;	  /* gets the hosts that were refused meanwhile; NULL: not wanted */
	bool *refused_others;	  /* with `refused`: there were others */
	struct strv *warnings;	  /* gets those about the workspace; NULL: they are printed */
	struct buf *tail;	  /* gets the last bytes on the terminal; NULL: not wanted */
	uint64_t timeout_ms;
	uint32_t consent; /* WIRE_EXEC_CONSENT or 0: how a start was agreed to
			   */
};

/*
 * Runs it on this connection to its end: *ret_code is 0..255 or 128 + n. -EAGAIN when the sandbox
 * ended before it took the command: nothing was run, try again.
 */
int attach_run(int conn, const struct attach *a, int *ret_code, struct err *err);
