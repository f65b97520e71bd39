#pragma once

#include "cli/frame/command.h"

/*
 * A small program of every kind of row, for the tests of the framework. demo() runs one command
 * line of it in a child and gives what was printed, the exit code, and what its command saw.
 */
struct demo_args {
	bool rm, detach, quiet, warm;
	const char *name, *mode;
	struct strv env;
	uint64_t count, size, wait;
};

struct demo_seen {
	char cmd[32]; /* "" when nothing ran */
	bool rm, detach, quiet, warm, dry_run, yes;
	uint64_t count, size, wait;
	int dashdash;
	char name[64], mode[16], env[64], config[256], operands[256]; /* lists joined by '|' */
};

struct demo_result {
	int code;
	char out[8192], err[8192];
	struct demo_seen seen;
};

extern const struct command *const demo_commands[];

struct demo_result *demo_argv(const char *const *argv);
#define demo(...) demo_argv((const char *const[]){"ralph", ##__VA_ARGS__, NULL})
