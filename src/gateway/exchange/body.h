#pragma once

#include "http/chunked.h"
#include "flow/gw.h"
#include "flow/stream.h"

struct response_guard;
struct spool;

/* One body on its way: read by its framing, written with the same one. */
struct body {
	enum http1_body kind;
	uint64_t left;
	struct chunked chunked;
	bool trailers;	   /* the last chunk has been written, its trailers follow */
	bool unframe;	   /* to a client of HTTP/1.0, which knows no chunks */
	bool no_overrides; /* trailers of http/override.h go */
	bool no_keys;	   /* trailers go where clients put keys: see phantom_strips() */
	bool done;
	struct response_guard
		*guard;	    /* an answer to a request with a credential passes through it */
	struct spool *copy; /* NULL, or where a request's payload is kept as well */
};

/* Moves the bytes that are in `in` already into out: bytes taken; 0: more are needed; -EPROTO. */
ssize_t body_move(struct body *b, struct buf *in, struct buf *out);
/*
 * Relays straight through the scratch buffer: no more is read than belongs to the body. As
 * stream_read(); -EPIPE: the other side is gone.
 */
ssize_t body_relay(struct gw *gw, struct body *b, struct stream *from, struct stream *to,
		   struct buf *out, uint64_t *count);
/* Reads more into `in`: > 0, 0 at the end, -EAGAIN, -errno. */
ssize_t body_fill(struct gw *gw, struct stream *from, struct buf *in);
/* Ends a body that ends with its connection. */
void body_close(struct body *b, struct buf *out);
/* The next payload that lies in `in`, without its framing; the bytes of `in` it takes are the
 * return value, as above. It is empty where there was nothing but framing. */
ssize_t body_take(struct body *b, const struct buf *in, struct slice *ret);
