#pragma once

#include "base/buf.h"
#include "http/slice.h"

/*
 * DOC: Theory of operation
 *
 * A decoder that keeps no payload: chunked_next() is called with what the caller has, takes a
 * prefix of it and says what that was: a run of payload, one trailer field, the end, or nothing
 * but framing. Sizes, extensions and line ends are consumed byte by byte in any pieces; only a
 * trailer line stays in the caller's buffer until it is whole (CHUNKED_MORE with bytes left
 * over), so that buffer must hold CHUNKED_TRAILER_LINE_MAX. Extensions are checked and dropped.
 * Behind CHUNKED_END the remaining bytes belong to the next message.
 */
enum {
	CHUNKED_SIZE_DIGITS = 8,	     /* one chunk below 4 GiB */
	CHUNKED_EXT_MAX = 256,		     /* extensions of one chunk */
	CHUNKED_EXT_TOTAL_MAX = 64 * 1024,   /* of one body */
	CHUNKED_TRAILER_LINE_MAX = 4 * 1024, /* with its CRLF */
	CHUNKED_TRAILER_TOTAL_MAX = 16 * 1024,
	CHUNKED_TRAILERS_MAX = 32,
	CHUNKED_HEAD_MAX = CHUNKED_SIZE_DIGITS + 2, /* the encoder's size line before a run */
};

enum chunked_reason {
	CHUNKED_FINE,
	CHUNKED_SIZE,	  /* not 1..8 hex digits */
	CHUNKED_EXT_BYTE, /* a control byte in an extension */
	CHUNKED_EXT_LONG,
	CHUNKED_LINE_END,	   /* CRLF expected, something else found */
	CHUNKED_TRAILER_BAD,	   /* a line the header rules refuse */
	CHUNKED_TRAILER_FORBIDDEN, /* framing, routing or credentials in a trailer */
	CHUNKED_TRAILER_LONG,
	CHUNKED_AFTER_END, /* called again behind CHUNKED_END: the caller's mistake */
	CHUNKED_REASON_N,
};

enum chunked_state {
	CHUNKED_S_SIZE,
	CHUNKED_S_EXT,
	CHUNKED_S_SIZE_LF,
	CHUNKED_S_DATA,
	CHUNKED_S_DATA_CR,
	CHUNKED_S_DATA_LF,
	CHUNKED_S_TRAILER,
	CHUNKED_S_END,
	CHUNKED_S_N,
};

struct chunked { /* {0} is the start of a body */
	enum chunked_state state;
	uint32_t left; /* payload bytes of this chunk still to come */
	uint8_t digits;
	uint16_t ext; /* extension bytes of this chunk */
	uint32_t ext_total, trailer_total, trailers;
	uint64_t total; /* payload bytes so far */
};

enum chunked_kind { CHUNKED_MORE, CHUNKED_DATA, CHUNKED_TRAILER, CHUNKED_END };

struct chunked_item {
	enum chunked_kind kind;
	struct slice data;	  /* CHUNKED_DATA: never empty */
	struct slice name, value; /* CHUNKED_TRAILER */
};

/*
 * Returns the bytes taken (0 is possible, with CHUNKED_MORE) or -chunked_reason. Call again with
 * the rest until CHUNKED_MORE or CHUNKED_END. The end of the connection before CHUNKED_END is a
 * truncated body, which is the caller's to refuse.
 */
ssize_t chunked_next(struct chunked *c, const char *p, size_t len, struct chunked_item *ret);

/* The size line before a run of n payload bytes (n > 0); the bytes written, no NUL. */
size_t chunked_put_head(char out[static CHUNKED_HEAD_MAX], uint32_t n);
/* Writes a whole chunk, its line end included. 0 or -ENOBUFS with nothing written. */
int chunked_put(struct buf *out, const void *p, size_t n);
/* The line end after a run, the last chunk with trailers after it, and the last chunk without. */
#define CHUNKED_CRLF "\r\n"
#define CHUNKED_LAST "0\r\n"
#define CHUNKED_LAST_END "0\r\n\r\n"
