#pragma once

#include "cli/frame/command.h"

#include <stdint.h>

/* A command for a running sandbox, as `exec` and `shell` ask for it. */
struct exec_request {
	const struct strv *argv, *env;
	const char *dir;  /* absolute, inside; NULL: the workspace */
	const char *user; /* NULL: the sandbox's own */
	bool tty;
	uint64_t timeout_ms;
};

/* Returns the exit code, or -errno with cli->err filled. */
int exec_in(struct cli *cli, const char *name, const struct exec_request *req);

/* The command that `shell` and `up` run. */
void exec_shell_argv(struct strv *argv);

/* -t, -T and neither: a terminal is given when stdin, stdout and stderr are terminals. */
bool exec_wants_tty(bool tty, bool no_tty);

/* The shell of the sandbox's own user, as its passwd says; a login shell, as ssh gives. */
void exec_shell_argv(struct strv *ret);
