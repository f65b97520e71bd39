#pragma once

#include <stddef.h>

/*
 * A set of texts to be found wherever they stand: secrets in what a server says, phantoms in what
 * a sandbox says. Each is looked for as it is and in the forms it mostly takes when something
 * echoes it: base64 (both alphabets, at each of the three places it can begin at), escaped for a
 * URL, escaped for JSON. Of base64 the characters that hold nothing but the secret are found; up
 * to four bits at either end stay.
 *
 * The search looks at the last three bytes of a window as long as the shortest form and mostly
 * moves on by all of it (Wu and Manber), so that longer secrets are found faster.
 */
enum {
	NEEDLE_MIN = 8, /* shorter ones are not looked for: chance would find them */
	NEEDLES_MAX = 256,
};

struct needles; /* immutable, counted */

/* NULL where none is long enough. */
struct needles *needles_new(const char *const *texts, size_t n);
struct needles *needles_ref(struct needles *s);
struct needles *needles_unref(struct needles *s); /* NULL; wipes with the last one */
size_t needles_longest(const struct needles *s);

/* The first one that begins in p: its place, and its length; n where there is none. */
size_t needles_find(const struct needles *s, const char *p, size_t n, size_t *ret_len);
/* The longest one that stands right at p: its length, or 0. */
size_t needles_at(const struct needles *s, const char *p, size_t n);
/* Returns how many bytes at the end of p could be the beginning of a needle. */
size_t needles_tail(const struct needles *s, const char *p, size_t n);
