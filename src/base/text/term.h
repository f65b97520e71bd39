#pragma once

/*
 * ROOM: base/text
 *
 * Text for people and in people's texts: what a terminal may show, tables, quantities, masked
 * values, searching for secrets. Nothing here opens a file.
 */

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Makes text safe to show on a terminal, and styles it. Nothing here depends on the user's locale:
 * text is UTF-8 or it is shown as escapes.
 */

enum term_color { TERM_AUTO, TERM_ALWAYS, TERM_NEVER };

enum term_style {
	STYLE_NONE,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_CYAN,
	STYLE_N,
};

/* AUTO: fd is a terminal, TERM is set and not "dumb", NO_COLOR is unset or empty. */
bool term_use_color(int fd, enum term_color when);
/* Columns of this terminal (COLUMNS where the kernel does not know); 0 when it is none. */
unsigned term_width(int fd);

/* Text that others wrote, made harmless as base/text/escape.h says. */
char *term_escape(const char *s);
void term_puts(FILE *out, const char *s); /* the same, printed */
/* One line, all of it escaped, with a newline behind it. */
void term_line(FILE *out, const char *fmt, ...) printf_like(2, 3);

/* Columns that s takes; for text that went through term_escape(). */
size_t term_columns(const char *s);
/* Bytes of the longest prefix of s that fits into so many columns. */
size_t term_fit(const char *s, size_t columns);

/* "" when color is false: fputs(term_on(color, STYLE_RED), out) … fputs(term_off(color), out) */
const char *term_on(bool color, enum term_style style);
const char *term_off(bool color);
/* Escaped text in a style. */
void term_styled(FILE *out, bool color, enum term_style style, const char *s);
