#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Options as tables. Parsing, --help, --dump-options, shell completion and the man-page test all
 * read the same row:
 *
 *	struct ls_args { bool json; struct strv labels; uint64_t limit; };
 *	#define AT(member) offsetof(struct ls_args, member)
 *	static const struct opt ls_opts[] = {
 *		{"json", 'j', OPT_BOOL, AT(json), NULL, "print JSON"},
 *		{"label", 'l', OPT_STRV, AT(labels), "K=V", "only those with this label"},
 *		{"limit", 0, OPT_UINT, AT(limit), "N", "at most N", .min = 1, .max = 99, .def =
 *"20"},
 *		{"memory", 'm', OPT_SIZE, 0, "SIZE", "memory", .key = "limits.memory"},
 *	};
 *
 * The struct starts zeroed, then takes each row's `def`, then the command line. A repeated scalar:
 * the last one wins. Long names are never abbreviated.
 */
enum opt_type {
	OPT_BOOL,     /* bool: becomes true; refuses a value */
	OPT_NOT,      /* bool: becomes false ("--no-x"; .def = "true", or a --x beside it) */
	OPT_STR,      /* const char *: points into argv */
	OPT_UINT,     /* uint64_t: strict base 10, min..max */
	OPT_SIZE,     /* uint64_t bytes: 512, 4K, 64M, min..max */
	OPT_DURATION, /* uint64_t milliseconds: 30s, 5m, min..max */
	OPT_STRV,     /* struct strv: repeatable; freed by whoever called opt_init */
	OPT_CHOICE,   /* const char *: one of `choices` */
	OPT_TYPE_N,
};

enum opt_flags {
	OPT_HIDDEN = 1 << 0, /* not in --help nor in completion */
};

/* The kinds of words that completion offers for an option's value or a command's operands. */
enum opt_complete {
	COMPLETE_NONE,
	COMPLETE_SANDBOX, /* names from `ralph ls --quiet` */
	COMPLETE_PROFILE, /* names from `ralph profile ls --quiet` */
	COMPLETE_FILE,
	COMPLETE_DIR,
	COMPLETE_COMMAND,    /* programs, then files */
	COMPLETE_SUBCOMMAND, /* names of ralph's commands */
	COMPLETE_TASK,	     /* ids from `ralph task ls --quiet` */
	COMPLETE_LOOP,	     /* workspaces from `ralph status --quiet`, then directories */
	COMPLETE_GROUP,	     /* names of network groups */
	COMPLETE_ENGINE,     /* names of engines */
	COMPLETE_N,
};

/* Rows leave out what they do not need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct opt {
	const char *name; /* long name without dashes */
	char short_name;  /* 0: none */
	enum opt_type type;
	size_t offset;	  /* into the command's struct; unused with `key` */
	const char *arg;  /* the value's name in help; NULL where there is no value */
	const char *help; /* lower case, no period */
	/* From here on by name, where needed. */
	const char *key;	    /* sets this configuration key, see struct opt_sink */
	const char *value;	    /* takes no value: stores this one ("--docker": "docker") */
	const char *const *choices; /* OPT_CHOICE: NULL-terminated */
	uint64_t min, max;	    /* max 0: no upper bound */
	const char *def; /* default: shown in help, and stored first unless `key` is set */
	unsigned needs;	 /* global options: flags a command must have to take it */
	enum opt_flags flags;
	enum opt_complete complete;
	const char *was; /* its long name in the last release, which still works, with a notice */
};

/* A table and the struct its offsets lie in. */
struct opt_set {
	const struct opt *opts;
	size_t n;
	void *base;
};

/*
 * The destination of a parsed command line. The sets are searched in order, so a command's own row
 * hides a global one. Options with a `key` are validated by their type and then land in config as
 * "key=value": a scalar key once (the last wins), OPT_STRV once per occurrence.
 */
struct opt_sink {
	const struct opt_set *sets;
	size_t n_sets;
	struct strv *config;
	unsigned have;			   /* the command's features, for opt.needs */
	bool posix;			   /* the first operand ends the options */
	bool (*ends)(const char *operand); /* does this one end them? NULL: posix says */
	int dashdash;	      /* out: how many operands came before "--"; -1 when there was none */
	const char *hint;     /* advice for an unknown option that is near to none; may be NULL */
	struct strv *notices; /* out: a line per option under an old name; may be NULL */
};

/* Stores the defaults; free with opt_done(). Defaults that do not parse are our bug: assert. */
void opt_init(const struct opt_set *set);
void opt_done(const struct opt_set *set);

/*
 * Parses argv (without the program's name). On success the operands stand at argv[0 .. *argc), in
 * order, argv[*argc] is NULL, and "--" is gone. Errors are usage errors that name the option.
 */
int opt_parse(struct opt_sink *sink, int *argc, char **argv, struct err *err);

/* Does this row want a value? */
bool opt_takes_value(const struct opt *o);
const char *opt_type_name(enum opt_type t); /* "bool", "uint" … as --dump-options prints it */
