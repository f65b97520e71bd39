#pragma once

#include "hook/judge.h"

/* The table in rules.def, and the rules for redirections and variables. */

/* Judges a program with this name and these fields; the first field is the program itself. */
void rules_program(struct judge *j, const char *name, const struct fields *argv,
		   const struct values *in);
/* Refuses the command and returns true if any program would be refused for these paths. */
bool rules_any_program(struct judge *j, const struct fields *argv);
/* Adds the names in all rules, each once: for words that may stand for one. */
void rules_names(struct judge *j, struct fields *to);

void rules_redirect(struct judge *j, const char *path, bool write);
void rules_assignment(struct judge *j, const char *name, const struct values *v);
/* Judges a file that one of the agent's own tools reads or writes. */
void rules_file(struct judge *j, const char *path, bool write);
