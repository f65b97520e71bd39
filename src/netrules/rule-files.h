#pragma once

#include "base/err.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * Network rules that `ralph net allow` and `ralph net deny` keep, apart from what people write in
 * their configuration: a text file a scope, one "allow PATTERN" or "deny PATTERN" a line, '#' for
 * comments. They lie in the user's own directories, out of any sandbox's reach.
 */
#define RULES_MAX 1024 /* lines in one file */

struct rule_line {
	bool deny;
	char *pattern;
};

struct rules {
	struct rule_line *v;
	size_t n;
};

/* The file of each scope. */
char *rules_user_file(const struct places *p);
char *rules_project_file(const struct places *p, const char *instance);
char *rules_sandbox_file(const struct places *p, const char *name);

/* A file that is not there has no rules. Errors name file and line, exit code 2. */
int rules_read(const char *path, struct rules *ret, struct err *err);
void rules_done(struct rules *r);
/* Adds a rule, replacing one about the same pattern; makes the file and its directory. */
int rules_set(const char *path, bool deny, const char *pattern, struct err *err);
/* Takes the rule about this pattern out; -ENOENT when there is none. */
int rules_drop(const char *path, const char *pattern, struct err *err);
