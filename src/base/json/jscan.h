#pragma once

/*
 * ROOM: base/json
 *
 * JSON: whole documents by jansson (json.h), single members of a text in memory (jpick.h), and
 * streams (jscan.h). No document's meaning enters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * JSON as it arrives: a pull scanner over input that may be cut anywhere. It keeps no tree and no
 * text: its size is fixed, whatever comes. Strings are given out in pieces that point into the
 * input, or, for escaped characters, into the scanner; so a string of a gigabyte costs nothing.
 * Values of no interest are skipped at the speed of memchr().
 *
 *	jscan_feed(&j, data, len);
 *	while ((t = jscan_next(&j)) != JSCAN_MORE) ...
 *
 * The scanner reads one document after the other, with or without white space between them. It is
 * strict (RFC 8259), except in skipped values, of which it follows only brackets and quotes.
 */
enum jscan_token {
	JSCAN_MORE,   /* all input was used: feed more, or jscan_end() */
	JSCAN_ERROR,  /* no JSON, or deeper than JSCAN_DEPTH; jscan_init() before anything else */
	JSCAN_OBJECT, /* { */
	JSCAN_OBJECT_END, /* } */
	JSCAN_ARRAY,	  /* [ */
	JSCAN_ARRAY_END,  /* ] */
	JSCAN_KEY,	  /* text, whole; cut at JSCAN_SHORT, then `cut` is set */
	JSCAN_STRING,	  /* a piece of a string: text; `last` is set with the final one */
	JSCAN_NUMBER,	  /* text, whole */
	JSCAN_TRUE,
	JSCAN_FALSE,
	JSCAN_NULL,
	JSCAN_SKIPPED, /* the value that jscan_skip() skips is over */
};

#define JSCAN_DEPTH 128
#define JSCAN_SHORT 127 /* of a key or number */

struct jscan {
	const char *p, *end;
	/* Of the last token. */
	const char *text;
	size_t len;
	bool last, cut;
	/* The number of open objects and arrays; a document is over when it is 0 after a token. */
	unsigned int depth;

	/* The rest is the scanner's own. */
	uint8_t state, skipping, word, word_at, hex_left;
	bool escape, in_string;
	uint16_t hex, high; /* \uXXXX so far; a high surrogate that waits for its low one */
	unsigned int keep;  /* bytes in small; while skipping, the open depth */
	uint64_t objects[JSCAN_DEPTH / 64]; /* a bit per depth: object or array */
	char small[JSCAN_SHORT + 1];
};

void jscan_init(struct jscan *j);
void jscan_feed(struct jscan *j, const char *data, size_t len);
enum jscan_token jscan_next(struct jscan *j);
/*
 * After a key: its value; after JSCAN_OBJECT or JSCAN_ARRAY: all of it; after a piece of a string
 * that is not the last: the rest of it. The next token is JSCAN_SKIPPED, or JSCAN_MORE before.
 */
void jscan_skip(struct jscan *j);
/* The input is over: true when it ended between two documents. A number at its very end counts. */
bool jscan_end(const struct jscan *j);

/* The last token's text. */
bool jscan_is(const struct jscan *j, const char *s);
bool jscan_uint(const struct jscan *j, uint64_t *ret); /* false: no whole number that fits */
