#pragma once

/*
 * ROOM: gateway/h2
 *
 * Connections of HTTP/2, on both sides. Each of their streams is a struct stream that speaks
 * HTTP/1.1, so that the rest of the gateway has one protocol to judge.
 */

#include "flow/gw.h"
#include "flow/stream.h"
#include "gateway/parse/h2-head.h"
#include "http/chunked.h"

/*
 * DOC: Theory of operation
 *
 * A struct h2 is one connection, as a server's or as a client's end of it; nghttp2 has the frames,
 * HPACK and the windows. A struct h2_stream lies between one stream of it and a struct stream that
 * a connection of the gateway reads and writes (conn.client, or conn.up): the owner.
 *
 *	peer → nghttp2 → h2_head → "GET / HTTP/1.1…" → the owner reads
 *	peer ← nghttp2 ← h2_fields ← http1_parse_… ← the owner writes
 *
 * nghttp2 is called from h2_run(), h2_receive() and the owner's reads and writes, and none of these
 * is called from a callback of nghttp2. So events for owners are delivered in h2_run(), which a
 * deferred callback runs after the batch: all that a batch has brought leaves in one write.
 *
 * An h2_stream is freed in h2_run() when both nghttp2 and the owner have let go of it; an h2 in
 * its deferred callback, after h2_close().
 */
struct h2;
struct h2_stream;

/* A bucket of tokens, see h2_spend(). */
struct h2_bucket {
	uint32_t tokens;
	uint64_t at; /* ms when `tokens` was right */
};

_Static_assert(H2_FAST_MAX *H2_WINDOW_FAST + H2_STREAMS_MAX * H2_WINDOW <= H2_WINDOWS,
	       "streams that nobody reads leave nothing to the others");

struct h2_ops {
	/* A whole head of a request lies in the stream: somebody has to read it. */
	void (*opened)(struct h2_stream *st);
	/* The peer took the stream back. */
	void (*reset)(struct h2_stream *st);
	/* The head or a trailer of a stream was refused, and the stream with it. */
	void (*malformed)(struct h2 *h, const char *why);
	/* Frames were read or written: the connection is in use. */
	void (*alive)(struct h2 *h);
	/* The connection is of no more use; why: "" for an end that both agreed on. */
	void (*over)(struct h2 *h, const char *why);
	/* Waits for the socket: to be read, or if it is blocked to be written. */
	void (*want)(struct h2 *h);
};

struct h2 {
	struct gw *gw;
	const struct h2_ops *ops;
	nghttp2_session *ng;
	bool server, https;
	struct stream *io; /* the connection's bytes */
	uint64_t sent;
	struct h2_stream *streams;
	size_t n_streams, n_fast; /* n_fast: of those with H2_WINDOW_FAST */
	struct buf out;		  /* frames, as far as the socket has not taken them */
	struct ev_defer run;
	bool dead; /* freed by the deferred callback, when no owner is left: */
	void (*free_fn)(struct h2 *h);
	bool settled;	   /* the peer's first SETTINGS are here */
	bool leaving;	   /* the peer wants no more streams */
	bool blocked;	   /* the socket takes no more */
	const char *flood; /* what the peer has sent too much of; NULL: nothing */
	struct h2_bucket control, resets;
};

struct h2_stream {
	struct h2 *h2;
	struct h2_stream *prev, *next;
	int32_t id;		     /* 0: not yet sent */
	struct stream *s;	     /* NULL: the owner has let go */
	bool opened, closed, failed; /* failed: before both sides had ended */
	bool told;		     /* the owner was told of that */
	bool to_head;		     /* the request is HEAD */
	bool grpc, websocket;
	bool fast;     /* its window is H2_WINDOW_FAST */
	bool waits;    /* an answer of 1xx was not taken, because the socket is blocked */
	uint32_t want; /* EPOLLIN, EPOLLOUT */

	/* From the peer. */
	struct h2_head *head; /* that is being received; NULL: none */
	bool bad;	      /* it was refused: the rest of its fields is not looked at */
	bool head_done;	      /* of the message; what comes now are trailers */
	enum h2_frames frames;
	struct buf text, in, tail; /* head; payload; the end of chunks with its trailers */
	size_t text_at, in_at, tail_at;
	bool in_end;
	uint64_t received;

	/* To the peer. */
	enum http1_body kind;
	uint64_t left;
	struct chunked chunked;
	bool submitted, deferred; /* deferred: nghttp2 waits for more of out */
	struct buf out, trailers;
	size_t out_at;
	bool out_end, cut; /* cut: the rest of the request is not wanted */
};

/* io stays the caller's, and is not used after h2_close(). */
int h2_init(struct h2 *h, struct gw *gw, bool server, struct stream *io, const struct h2_ops *ops);
/* Ends a server's streams at once; those of a client when their owners have read the rest. free_fn
 * frees the memory around h. */
void h2_close(struct h2 *h, void (*free_fn)(struct h2 *h));
/* The frames that are still to be sent. */
void h2_last_words(struct h2 *h, struct buf *out);
/* Bytes of the peer. false: over() was called. */
bool h2_receive(struct h2 *h, const char *p, size_t n);
/* Delivers events to owners and writes frames. false: over() was called. */
bool h2_run(struct h2 *h);
/* The same, after this batch. */
void h2_run_later(struct h2 *h);

/* h2-stream.c */
struct h2_stream *h2_stream_new(struct h2 *h);
/* Makes s the owner's end of st. */
void h2_stream_attach(struct h2_stream *st, struct stream *s, ev_io_fn *fn);
void h2_stream_free(struct h2_stream *st);
/* The stream of HTTP/2 that s lies over, or NULL. */
struct h2_stream *h2_stream_of(const struct stream *s);
/* The events that its owner waits for and that have come. */
uint32_t h2_stream_events(const struct h2_stream *st);
/* More payload for nghttp2. */
ssize_t h2_stream_source(nghttp2_session *ng, int32_t id, uint8_t *p, size_t n, uint32_t *flags,
			 nghttp2_data_source *source, void *user);

/* h2-budget.c: false: the peer has used up what it may send of frames that carry nothing. */
bool h2_spend(struct h2 *h, const nghttp2_frame_hd *hd);
/* A frame with content was sent: its reader may answer. */
void h2_earn(struct h2 *h);
