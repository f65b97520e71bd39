#pragma once

/*
 * ROOM: cli/frame
 *
 * Option tables, parsing, help and completion, for any command. No command's meaning enters.
 */

#include "base/err.h"
#include "base/strv.h"
#include "cli/frame/opt.h"
#include "base/text/term.h"

#include <stdbool.h>
#include <stddef.h>

/* The argument of every command: the global options, and the error that it fills in. */
struct cli {
	/* global options */
	bool dry_run;
	bool yes; /* never ask */
	bool sandbox, no_sandbox;
	bool help, version, dump_options;
	const char *color;   /* "auto", "always", "never"; see cli_color() */
	struct strv config;  /* "key=value": for config_sources.flags */
	struct strv notices; /* about options under an old name */
	/* the command line of the command that runs */
	const struct command *command;
	const char *name; /* as in usage: "run", "config show" */
	const char *word; /* as it was typed: its name, or an alias of it */
	int dashdash;	  /* operands before "--"; -1 when there was none */
	bool show_usage;  /* set by cli_usage() */
	struct err err;
};

enum command_group {
	GROUP_RUN,    /* run commands and agents */
	GROUP_LOOP,   /* tasks, unattended */
	GROUP_MANAGE, /* sandboxes */
	GROUP_CONFIG, /* settings, trust, this machine */
	GROUP_MISC,
	GROUP_N,
};

enum command_flags {
	CMD_POSIX = 1 << 0, /* the first operand ends options: what follows is a command line */
	CMD_PASSTHROUGH = 1 << 1, /* exit code is a payload's; ralph's own failure is 125 */
	CMD_HIDDEN = 1 << 2,
	CMD_CONFIG = 1 << 3,  /* loads the configuration: takes --profile, --engine, --docker */
	CMD_DIRECT = 1 << 8,  /* may run without a sandbox: takes --no-sandbox */
	CMD_DRY_RUN = 1 << 4, /* honours --dry-run; any other command refuses it */
};

#define OPERANDS_ANY (-1)

/*
 * One command: each cmd-*.c exports one, declared in commands.h, listed in commands.c.
 *
 *	const struct command cmd_stop = {
 *		.name = "stop", .operands = "NAME...", .summary = "stop sandboxes",
 *		.group = GROUP_MANAGE, OPTIONS(stop_opts, struct stop_args), .run = cmd_stop_run,
 *		.min_operands = 1, .max_operands = OPERANDS_ANY, .complete = COMPLETE_SANDBOX,
 *	};
 *
 * Without --, operands and options may be mixed unless CMD_POSIX is set; cli->dashdash says where
 * a -- stood (`ralph run [PATH] -- CMD…`: argv[0 .. dashdash) is PATH, the rest is CMD).
 */
struct command {
	const char *name;
	const char *operands; /* for the usage line; NULL: none */
	const char *summary;  /* one line, lower case, no period */
	const char *details;  /* paragraphs for --help, wrapped by hand at 76; may be NULL */
	enum command_group group;
	unsigned flags; /* enum command_flags */
	const struct opt *opts;
	size_t n_opts;
	size_t args_size; /* of the struct opts fill; zeroed, defaults stored, freed after run */
	int min_operands;
	int max_operands;	    /* OPERANDS_ANY: no limit */
	enum opt_complete complete; /* kind of the operands */
	const char *const *words;   /* operands that may be one of these; NULL-terminated */
	const char *const *aliases; /* NULL-terminated; may be NULL */
	/* Does this operand end the options? Behind it, and behind an alias of such a command, stands
	 * somebody else's command line. NULL: options and operands may be mixed. */
	bool (*ends)(const char *operand);
	const struct command *const *subs; /* subcommands, NULL-terminated; then no opts, no run */
	/* Returns the exit code, or -errno with cli->err filled. argv are the operands. */
	int (*run)(struct cli *cli, void *args, int argc, char **argv);
};

#define OPTIONS(table, type) .opts = (table), .n_opts = ARRAY_SIZE(table), .args_size = sizeof(type)

/* The global table, for help, completion and the dump; offsets lie in struct cli. */
extern const struct opt global_opts[];
extern const size_t n_global_opts;

/* A misuse that the usage line helps with: "ralph: exec: <msg>", then the usage line; exit 2. */
int cli_usage(struct cli *cli, const char *fmt, ...) printf_like(2, 3);
/* Colour on this stream? (--color, NO_COLOR, TERM, isatty) */
bool cli_color(const struct cli *cli, int fd);

/*
 * Runs one whole command line (argv[0] is the program) on these commands: parses, dispatches,
 * prints errors. Returns the exit code; never exits.
 */
int cli_main(const struct command *const *cmds, int argc, char **argv);

/* By name or alias; NULL. */
const struct command *command_find(const struct command *const *cmds, const char *name);
/* Finds what the words name ("config", "show"); an unknown one is a usage error with a suggestion.
 * *used: how many words it took. */
int command_lookup(const struct command *const *cmds, int n, char *const *words, int *used,
		   const struct command **ret, struct err *err);
