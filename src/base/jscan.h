#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A pull scanner for JSON that comes in pieces: server-sent events, JSON lines, transcripts.
 *
 *	jscan_init(&j);
 *	jscan_feed(&j, p, n, last);
 *	while ((t = jscan_next(&j)) > 0 && t != JSCAN_DONE)
 *		…
 *
 * It keeps no tree and allocates nothing. A token that lies whole in the bytes of one feed is a
 * slice of them; one that was cut by the end of a feed is put together in the scanner, which holds
 * JSCAN_HELD_MAX bytes of it and says `cut` when it had more. So whoever wants whole strings of
 * any length feeds whole documents, and whoever reads a stream gets keys, numbers and short
 * strings however it was split.
 *
 * Structure is checked; what is inside strings is not: bytes below a space are let through, and
 * escapes are looked at by jscan_unescape() only. Depth is limited to JSCAN_DEPTH_MAX.
 */
enum {
	JSCAN_DEPTH_MAX = 256,
	JSCAN_HELD_MAX = 512,
};

enum jscan_token {
	JSCAN_BAD = -1, /* not JSON, or nested too deep: for good */
	JSCAN_MORE = 0, /* all that was fed is used up */
	JSCAN_OBJECT,
	JSCAN_OBJECT_END,
	JSCAN_ARRAY,
	JSCAN_ARRAY_END,
	JSCAN_KEY,
	JSCAN_STRING,
	JSCAN_NUMBER,
	JSCAN_TRUE,
	JSCAN_FALSE,
	JSCAN_NULL,
	JSCAN_DONE, /* the document's one value is complete; blanks behind it are taken */
};

struct jscan {
	/* The token: KEY, STRING (without its quotes), NUMBER. */
	const char *text;
	size_t len;
	bool escaped; /* there is a backslash in it */
	bool cut;     /* there was more of it than could be held */

	unsigned int depth; /* of what is open: 0 before and behind the document */

	/* private */
	const char *p, *end;
	uint8_t expect, partial;
	bool last, is_key, backslash, skipping;
	unsigned int skip_to;
	size_t n_held;
	uint64_t arrays[JSCAN_DEPTH_MAX / 64]; /* a bit per level: it is an array */
	char held[JSCAN_HELD_MAX];
};

/* A new document; also after JSCAN_BAD or JSCAN_DONE. What was fed and not read is forgotten. */
void jscan_init(struct jscan *j);
/* The next piece; all of the last one must have been read. `last`: nothing follows, so that a
 * number may end here. The bytes must stay as long as tokens of them are looked at. */
void jscan_feed(struct jscan *j, const char *p, size_t n, bool last);
enum jscan_token jscan_next(struct jscan *j);
/* Behind a KEY: its value is passed over; behind OBJECT or ARRAY: the rest of it, the end
 * included. It may lie in pieces that are yet to come. */
void jscan_skip(struct jscan *j);
/* Bytes of the last feed that were not read: what stands behind JSCAN_DONE. */
static inline size_t jscan_left(const struct jscan *j)
{
	return (size_t)(j->end - j->p);
}

/* Is the KEY or STRING this text? */
bool jscan_is(const struct jscan *j, const char *s);
/* A NUMBER without sign, fraction or exponent: 0, -EINVAL, or -ERANGE. */
int jscan_uint(const struct jscan *j, uint64_t *ret);
/* The string's bytes with its escapes resolved, as UTF-8, at most as many as it had; out may be p
 * itself. A surrogate without its other half becomes U+FFFD. -EINVAL: not an escape. */
ssize_t jscan_unescape(const char *p, size_t n, char *out);
