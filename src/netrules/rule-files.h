#pragma once

#include "base/err.h"
#include "policy/rule.h"
#include "record/places.h"

#include <stdint.h>

/*
 * Network rules that `ralph net allow` and `ralph net deny` keep, apart from what people write in
 * their configuration: a text file a scope, one "allow PATTERN" or "deny PATTERN" a line, with "until SECONDS"
 * (since 1970) behind it where it ends by itself, '#' for comments. They lie in the user's own directories, out of any sandbox's reach.
 */
#define RULES_MAX 1024 /* lines in one file */

/* The file of each scope. */
char *rules_user_file(const struct places *p);
char *rules_project_file(const struct places *p, const char *instance);
char *rules_sandbox_file(const struct places *p, const char *name);
char *rules_loop_file(const struct places *p, const char *loop); /* a loop with its workers */
char *rules_once_file(const struct places *p, const char *name); /* until the sandbox stops */

/* Verdicts, patterns and ends of those that have not ended; the tier is not said there. A file that is not there has no rules. Errors
 * name file and line, exit code 2. */
int rules_read(const char *path, struct net_policy *ret, struct err *err);
/* Adds a rule, replacing one about the same pattern; makes the file and its directory. until 0: it
 * stays. */
int rules_set(const char *path, bool deny, const char *pattern, uint64_t until, struct err *err);
/* Writes these in place of all that the file has. */
int rules_write(const char *path, const struct net_policy *rules, struct err *err);
/* Takes the rule about this pattern out; -ENOENT when there is none. */
int rules_drop(const char *path, const char *pattern, struct err *err);
