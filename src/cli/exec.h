#pragma once

#include "cli/frame/command.h"
#include "record/places.h"

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

/*
 * May a command of this sandbox be given these variables? They are refused as `run` refuses them,
 * by the patterns that the sandbox was started with and those of today's settings. The fast program
 * has no settings, and its function runs the whole command line with the program that has.
 */
int exec_check_env(struct cli *cli, const struct places *p, const char *sandbox,
		   const struct strv *env);

/* Finds this project's sandbox, where the user names none. The fast program's function runs the
 * whole command line with the other one here, too. */
int exec_here(struct cli *cli, const struct places *p, char **ret);

/* -t, -T and neither: a terminal is given when stdin, stdout and stderr are terminals. */
bool exec_wants_tty(bool tty, bool no_tty);

/* The shell of the sandbox's own user, as its passwd says. */
void exec_shell_argv(struct strv *ret);
