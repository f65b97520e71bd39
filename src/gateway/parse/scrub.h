#pragma once

/*
 * ROOM: gateway/parse
 *
 * Readers of what the sandbox and servers send. Pure: no socket, no policy, no event.
 */

#include "base/buf.h"
#include "base/text/needles.h"
#include "http/slice.h"

/*
 * Takes secrets out of a stream: one that is found is replaced by as many '*', and so is the whole
 * stretch (base/text/stretch.h) in which one is spelled differently. The bytes come in any pieces
 * and are changed in place; lengths, and with them the framing, stay what they were.
 *
 * A stretch at the end of a piece waits until it is over. Of one that has grown to twice
 * SPELLED_MAX all but the last SPELLED_MAX bytes go. So how many bytes go, and when, depends on the
 * stream and on the shape of the secrets, never on their content: a star is a character of
 * stretches too. Events and lines of JSON end with a byte of no stretch, so they are never late.
 */
struct scrub {
	struct needles *needles; /* counted; NULL: nothing is looked for */
	struct buf held;	 /* the open stretch, at most twice SPELLED_MAX */
	size_t line;		 /* of it: see struct stretch */
	struct buf before;	 /* the bytes that waited until now: see scrub_run() */
	uint32_t count;
};

void scrub_init(struct scrub *s, struct needles *n); /* takes a count of its own */
/* Other secrets are looked for from here on; bytes that wait go on waiting. */
void scrub_renew(struct scrub *s, struct needles *n);
void scrub_done(struct scrub *s);

/*
 * The next piece; `over`: a stretch ends with it at the latest. *ret_before, which waited since the
 * last piece, may go now and then *ret_after, which lies in p; both until the next call.
 */
void scrub_run(struct scrub *s, char *p, size_t n, bool over, struct slice *ret_before,
	       struct slice *ret_after);
/* A text that is whole and has one thing in each line: a head, a trailer. */
void scrub_text(struct scrub *s, char *p, size_t n);
