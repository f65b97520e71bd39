#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Stretches: the parts of a text in which a secret can stand, whatever it is spelled in. A stretch
 * is made of the characters of tokens, of base64, of hexadecimal, of escapes (% \ & # ;), of NUL as
 * UTF-16 has it, and of the stars that replace a secret. A line break right after STRETCH_LINE such
 * characters belongs to the stretch, because base64 is wrapped into lines; any other one ends it.
 *
 * Stretches are the same whatever the secrets are, so seeing where one is held back tells nothing.
 */
enum { STRETCH_LINE = 48 };

/* What is no secret about a set of secrets: lengths, and this one bit about their characters. */
struct stretch_shape {
	size_t least; /* shorter stretches hold none of them */
	bool wide; /* one has characters that no token has: control characters alone end a stretch */
};

struct stretch {
	size_t at, end;
	size_t line; /* characters of a token since the last line break */
};

bool stretch_is_token(const char *p, size_t n);
/*
 * Finds the next stretch of p from `from` on, where none is open: the first one of s->least bytes
 * or more, or a shorter one if it reaches the end of p.
 */
bool stretch_next(const struct stretch_shape *s, const char *p, size_t n, size_t from,
		  struct stretch *ret);
/* Returns how many bytes of p belong to a stretch that is open; *line is read and written. */
size_t stretch_more(const struct stretch_shape *s, const char *p, size_t n, size_t *line);
