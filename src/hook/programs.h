#pragma once

#include "hook/judge.h"

/* Programs that need more than a row of rules: they run others, or change the meaning of names. */

/* A program that is being judged: its fields, its base name, its input. */
struct program {
	struct fields argv;
	const char *name; /* without directories */
	const struct values *in;
	struct values out; /* n == 0: unknown */
};

/* Judges the fields from here on as a command; its output becomes the program's. */
void program_run(struct judge *j, struct program *p, unsigned int from);
/* Judges a text that a shell would run; `taint` is the origin of the text. */
void program_script(struct judge *j, struct program *p, struct values script);
/* Joins the fields from here on with spaces, as eval and ssh do. */
const char *program_joined(struct judge *j, const struct program *p, unsigned int from);

typedef void program_fn(struct judge *j, struct program *p);

/* wrappers-git.c */
program_fn program_git, program_packer;

/* builtins.c: names and values; returns true if the program is a builtin */
bool program_builtin(struct judge *j, struct program *p);
/* wrappers.c: env, xargs, find, timeout … */
bool program_wrapper(struct judge *j, struct program *p);
/* shells.c: sh -c, eval, source */
bool program_shell(struct judge *j, struct program *p);
bool program_is_shell(const char *name);
/* scripts.c: an existing script, with its $0 and arguments; itself: it is executed directly, and
 * may not be a shell script */
void program_on_disk(struct judge *j, const char *path, const struct fields *args, bool itself);
/* npx.c: npx and its kind */
void program_package(struct judge *j, const struct program *p);
/* code.c: python -c, perl -e, awk … */
bool program_code(struct judge *j, struct program *p);
/* outputs.c: computes the output of a program, if possible */
void program_output(struct judge *j, struct program *p);

/* Returns all names that a rule or one of these knows, for words that may stand for one. */
const struct fields *program_names(struct judge *j);
