#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The one place that says how text of others is shown. Control bytes, ESC, DEL and C1 become
 * "\xNN", as does what is not UTF-8; characters that reorder, hide or break lines become
 * "\u{202E}"; newlines and tabs "\n" and "\t". A backslash stays as it is, so that text that went
 * through here once does not change again. No locale and no allocation: the guest links it too.
 */
#define ESCAPE_LONGEST 16 /* "\u{10FFFF}" and a NUL, and what the compiler thinks of %X */

/* Strict UTF-8: the length of the sequence at s, or 0 for what is none (overlong, surrogate, cut).
 */
size_t escape_decode(const char *s, uint32_t *ret);
/* Would a terminal act on this character, or hide it? */
bool escape_is_active(uint32_t c);
/* The escape for what is at s, or "" when it can be shown; returns how much it covers. */
size_t escape_next(const char *s, char out[ESCAPE_LONGEST]);
/* All of s, as far as it fits into `to`: no escape or character is cut. */
void escape_text(const char *s, char *to, size_t size);
/* Is there anything in s that would be escaped? */
bool escape_needed(const char *s);
/* The same in a string of JSON, "\u202e": for text between quotation marks. */
size_t escape_json_next(const char *s, char out[ESCAPE_LONGEST]);
