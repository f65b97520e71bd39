#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Helpers for text written by people and agents. */

/* Checks for UTF-8 without NUL bytes, at most max bytes; else a usage error names the line. */
int text_check(const char *name, const char *text, size_t len, size_t max, struct err *err);
bool text_is_utf8(const char *text, size_t len);
/* Returns the line number of a position in the text, from 1. */
unsigned text_line(const char *text, const char *at);
/* Returns the text on one line, for messages. Control bytes become spaces. Text longer than max
 * bytes is cut between characters and ends in "…". The caller frees it. */
char *text_short(const char *s, size_t len, size_t max);
/* "Add the login form!" -> "add-the-login-form", at most max bytes; "" when nothing is left. */
char *text_slug(const char *s, size_t max);
