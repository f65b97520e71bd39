#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Small things about texts that people and agents wrote. */

/* UTF-8 without NUL bytes, at most max bytes; else a usage error that names the line. */
int text_check(const char *name, const char *text, size_t len, size_t max, struct err *err);
bool text_is_utf8(const char *text, size_t len);
/* The line of a place in the text, from 1. */
unsigned text_line(const char *text, const char *at);
/* On one line, for messages: control bytes become blanks, what is longer than max bytes is cut
 * between characters and ends in "…". The caller frees it. */
char *text_short(const char *s, size_t len, size_t max);
/* "Add the login form!" -> "add-the-login-form", at most max bytes; "" when nothing is left. */
char *text_slug(const char *s, size_t max);
