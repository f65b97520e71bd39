#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/stretch.h"

/*
 * A set of texts to be found wherever they stand: secrets in what a server says or a commit holds,
 * phantoms in what a sandbox says. Each is looked for as it is and as it is spelled by something
 * that shows it: hexadecimal, %XX, \uXXXX, \xXX, UTF-16, entities of HTML, base64 of both alphabets
 * from any byte on and in lines, and any two of these, one over the other, as long as it is one
 * stretch (stretch.h).
 *
 * The search takes as long and touches the same memory whatever the texts are. It undoes the
 * spellings (spelling.h) and compares every place of the result with the last NEEDLE_CORE bytes of
 * each text as a whole, so that no part of a text can be found by trying: a right beginning is
 * treated as a wrong one is. The last bytes are the core because many tokens begin alike.
 */
enum {
	NEEDLE_MIN = 8, /* shorter ones are not looked for: chance would find them */
	NEEDLE_CORE = 32,
	SPELLED_MAX = 2048, /* a spelling of up to this length is found as a whole */
};

struct needles; /* immutable, counted */

/* NULL where none is long enough. */
struct needles *needles_new(const char *const *texts, size_t n);
struct needles *needles_ref(struct needles *s);
struct needles *needles_unref(struct needles *s); /* NULL; wipes with the last one */
const struct stretch_shape *needles_shape(const struct needles *s);

/* The first one that stands in p as it is: its place and length; n where there is none. Those that
 * overlap are one. */
size_t needles_plain(const struct needles *s, const char *p, size_t n, size_t *ret_len);
/* Does p, a stretch that holds none as it is, hold one in another spelling? */
bool needles_spelled(const struct needles *s, const char *p, size_t n);
/* The first one in any spelling: its place and length, or those of the stretch that it is spelled
 * in; n where there is none. */
size_t needles_find(const struct needles *s, const char *p, size_t n, size_t *ret_len);
