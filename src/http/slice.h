#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/*
 * Bytes inside somebody else's buffer: valid only as long as that buffer neither moves nor
 * changes, and not NUL-terminated.
 *
 * Every parser of the gateway answers in one form. A result > 0 is the number of bytes consumed,
 * 0 asks for more bytes behind the same ones, < 0 is minus a value of the parser's reason enum:
 * the input is refused and what stands in the result is not to be used. x_reason_str() takes
 * either sign and gives a static sentence without any byte of the input.
 */
struct slice {
	const char *p;
	size_t n;
};

static inline struct slice slice_of(const char *s)
{
	return (struct slice){s, strlen(s)};
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* ASCII letters compare without case; the locale has no say. */
static inline bool slice_ieq(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	}
	return true;
}

static inline bool slice_is(struct slice a, const char *s)
{
	return slice_ieq(a, slice_of(s));
}
