#pragma once

#include "hook/judge.h"

/* The table of rules.def, and the rules about redirections and variables. */

/* A program of this name with these fields, the first being the program itself. */
void rules_program(struct judge *j, const char *name, const struct fields *argv,
		   const struct values *in);
/* Would some program be refused for the paths among these fields? Then it is, and true. */
bool rules_any_program(struct judge *j, const struct fields *argv);
/* Adds all names that rules have, each once: for words that may stand for one. */
void rules_names(struct judge *j, struct fields *to);

void rules_redirect(struct judge *j, const char *path, bool write);
void rules_assignment(struct judge *j, const char *name, const struct values *v);
/* A file that a tool of the agent's own reads or writes. */
void rules_file(struct judge *j, const char *path, bool write);
