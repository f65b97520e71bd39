#pragma once

#include "base/err.h"
#include "base/strv.h"

/*
 * Variables that must not go into a sandbox although the user's own settings ask for them: names
 * that are always refused, names and values that the user's patterns match, and values that look
 * like a secret of a known kind. Pure: names, values and patterns in, a verdict out.
 *
 * A pattern is one of glob(7), for the whole name or value, case aside; without any of *?[ it is
 * looked for anywhere in them. A pattern with one of |()^$\ is an extended regular expression as
 * well, which may match anywhere: a pattern that was meant as one must not be a glob that matches
 * nothing. In parentheses of its own a glob is an expression for names only, unless the expression
 * matches the empty string, and so every name.
 *
 * 0, or an error with exit code 64 that names the variable and never its value. value may be NULL
 * (it is not set: only the name counts); source is the setting that asked for it.
 */
int refused_env_check(const char *name, const char *value, const struct strv *patterns,
		      const char *source, struct err *err);

/* NULL, or why the text is no pattern: it is meant as an expression and is not a valid one. The
 * form of an expression is bounded, because a project's file may hold one. */
#define REFUSED_ENV_PATTERN_MAX 4095
const char *refused_env_wrong(const char *text);
