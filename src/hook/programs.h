#pragma once

#include "hook/judge.h"

/* Programs that are more than a row of the rules: they run others, or change what names mean. */

/* A program as it is looked at: its fields, its bare name, what it reads. */
struct program {
	struct fields argv;
	const char *name; /* without directories */
	const struct values *in;
	struct values out; /* n == 0: not known */
};

/* Everything from this field on as a command of its own; its output becomes the program's. */
void program_run(struct judge *j, struct program *p, unsigned int from);
/* A text that a shell would run; `taint` is that of where it comes from. */
void program_script(struct judge *j, struct program *p, struct values script);
/* The fields from here on with blanks between, as eval and ssh join them. */
const char *program_joined(struct judge *j, const struct program *p, unsigned int from);

typedef void program_fn(struct judge *j, struct program *p);

/* wrappers-git.c */
program_fn program_git, program_packer;

/* builtins.c: names and values; true: it was one of them */
bool program_builtin(struct judge *j, struct program *p);
/* wrappers.c: env, xargs, find, timeout … */
bool program_wrapper(struct judge *j, struct program *p);
/* shells.c: sh -c, eval, source */
bool program_shell(struct judge *j, struct program *p);
bool program_is_shell(const char *name);
/* scripts.c: a script that is there already, with its $0 and arguments; itself: it is run as a
 * program, and may be none of a shell's */
void program_on_disk(struct judge *j, const char *path, const struct fields *args, bool itself);
/* code.c: python -c, perl -e, awk … */
bool program_code(struct judge *j, struct program *p);
/* outputs.c: what a program puts out, where that can be told */
void program_output(struct judge *j, struct program *p);

/* All names that one of these or a rule knows, for words that may stand for one. */
const struct fields *program_names(struct judge *j);
