#pragma once

#include "hook/category.h"
#include "hook/shell/shell.h"

#include <stdint.h>

/*
 * DOC: Theory of operation
 *
 * A command is judged by simulating it. Its tree (shell.h) is walked in order, with variables,
 * functions and aliases as a shell would have them. Words are expanded to their possible values
 * (expand.h), and each program that would be started is checked against the rules (rules.h). Any
 * text that a shell would run as a script (bash -c, eval, a pipe into sh, a here-document) is
 * judged the same way, down to JUDGE_DEPTH.
 *
 * A value that is only known at run time is MARK_ANY; see marks.h. All branches are walked, each
 * once. Nothing is started, and only scripts that would run are read from the disk, if `read` is
 * set (scripts.c).
 */
#define JUDGE_DEPTH 16		/* scripts in scripts, functions in functions */
#define JUDGE_STEPS 4000	/* judged programs */
#define JUDGE_MEMORY (16 << 20) /* bytes */
#define JUDGE_FINDINGS 16
#define VALUES_MAX 64	/* possible values of a word */
#define FIELDS_MAX 2048 /* fields of a command */

/* Origins of a text. */
enum taint {
	TAINT_NET = 1 << 0,    /* downloaded */
	TAINT_CODED = 1 << 1,  /* decoded, so it was hidden from a reader */
	TAINT_SECRET = 1 << 2, /* a credential, or the whole environment */
	TAINT_MADE = 1 << 3,   /* computed by a program */
	TAINT_SHELL = 1 << 4,  /* output of a shell that someone else controls */
};

/* Possible values of a word or a stream: it is one of these. */
struct values {
	const char **v; /* with marks */
	unsigned int n;
	unsigned int taint; /* enum taint */
};

struct fields {
	const char **v;
	unsigned int n;
	unsigned int taint;
};

struct finding {
	enum category category;
	enum severity severity;
	const char *text; /* the subject, as far as it is known */
	const char *why;
};

struct judge {
	struct arena *arena;
	const char *root; /* the project */
	const char *cwd, *home;
	const char *(*getenv)(const char *name);
	/* Reads a script from the disk. NULL: none; *ret_why is set if that should be reported.
	 * The pointer may be NULL. */
	const char *(*read)(struct arena *a, const char *path, const char **ret_why);

	/* True when the lock file of the project at `dir` has a package. The pointer may be NULL:
	 * then nobody asks. */
	bool (*locked)(const char *dir, const char *package);

	struct judge_name *vars, *functions, *aliases, *files;
	struct fields names; /* names that a word may stand for; see program_names() */
	struct fields args;  /* $1 … */
	const char *last_arg;
	const struct values *stdin_text; /* since `exec <…`; NULL: unknown */
	bool sourced;			 /* a file may have set any variable */

	unsigned int depth, steps, globs;
	/* Scripts on the disk: nesting depth, number, and the current one; NULL: the command
	 * itself. */
	unsigned int nested, files_read;
	const char *script;
	/* Nesting counters of the current position in the script. */
	unsigned int conditional, in_pipe, in_background, in_forever;

	struct finding findings[JUDGE_FINDINGS];
	unsigned int n_findings;
};

/* A variable, function, alias, or a file that was written. */
struct judge_name {
	const char *name;
	struct values values;
	struct shell_list *body; /* of a function */
	bool active;
	struct judge_name *next;
};

void judge_init(struct judge *j, struct arena *a, const char *cwd, const char *home);
/* Judges a script and adds findings. Gives up through the arena. */
void judge_script(struct judge *j, const char *text, size_t len);
/* Judges each value as a script; a completely unknown value is skipped. */
void judge_values(struct judge *j, const struct values *scripts);
/* Judges a program with its arguments and stdin (NULL: unknown); returns its stdout. */
struct values judge_argv(struct judge *j, const struct fields *argv, const struct values *in);
struct values judge_list(struct judge *j, const struct shell_list *list, const struct values *in);
void judge_add(struct judge *j, enum category c, enum severity s, const char *text,
	       const char *why);
/* Returns the fields as a readable line. */
const char *judge_line(struct judge *j, const struct fields *f);

struct judge_name *judge_find(struct judge_name *list, const char *name);
/* Sets a value. If the assignment may not happen, the old value stays as another possibility. */
void judge_set(struct judge *j, struct judge_name **list, const char *name, struct values v);
