#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The few signs beyond ASCII that ralph's own texts have ("…", "─", "×"), for users whose locale has
 * no UTF-8. All other text is passed on as it is: names of files are bytes.
 */

/* True where LC_ALL, LC_CTYPE or LANG names a character set other than UTF-8, or nothing does. */
bool signs_are_ascii(void);
/* Returns the sign at the end of a cell that was cut; it takes one column. */
const char *signs_cut(void);
/* Appends text with its signs replaced. */
void signs_put(struct buf *b, const char *text, size_t n);
/* Writes a text that is never data, its signs replaced where the locale has no UTF-8. */
void signs_show(FILE *out, const char *text, size_t n);
/* Returns how many bytes at the end of the text may be the start of a sign. */
#define SIGNS_LONGEST 3 /* bytes of a sign */
size_t signs_unfinished(const char *text, size_t n);

/* signs-setup.c: replaces the signs in all that is written to stderr from here on, and to stdout
 * where that is a terminal: elsewhere stdout may carry data. Does nothing where the locale has
 * UTF-8. */
void signs_setup(void);
