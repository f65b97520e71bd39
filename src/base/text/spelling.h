#pragma once

#include <stddef.h>

/*
 * Ways to spell a text, read backwards. Each reads n bytes of p and writes at most n bytes to out;
 * the return value is how many. Whatever they are given, they make something of it: the caller
 * looks whether that holds what it looks for.
 */

/* Without NUL and line breaks: UTF-16 and UTF-32 of ASCII, base64 in lines. */
size_t spelling_squeeze(const char *p, size_t n, char *out);
/*
 * Undoes one kind of escapes once. '%': %XX; '\\': \uXXXX, \xXX, \n and the like; '&': &#N;, &#xN; and
 * the five names that XML has.
 */
size_t spelling_unescape(const char *p, size_t n, char escape, char *out);
/*
 * The length of the digits of base64 (both alphabets) or of hexadecimal (both cases) that p begins
 * with, and the bytes that they are from the digit `skip` on.
 */
size_t spelling_base64_span(const char *p, size_t n);
size_t spelling_base64(const char *p, size_t n, size_t skip, char *out);
size_t spelling_hex_span(const char *p, size_t n);
size_t spelling_hex(const char *p, size_t n, size_t skip, char *out);
