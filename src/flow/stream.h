#pragma once

#include "base/buf.h"
#include "base/ev.h"

#include <sys/types.h>

/*
 * One side of a connection as bytes: a socket, or TLS over a socket. All calls are non-blocking.
 *
 * `readable` says that a read may bring something: set by an event, cleared when the stream has
 * been drained. A reader that stops because the other side is slow leaves it set, takes EPOLLIN out
 * of the interest, and comes back later. TLS keeps bytes that no event announces, so it clears the
 * flag only when it holds none and the socket had no more.
 */
struct stream;

struct stream_ops {
	ssize_t (*read)(struct stream *s, void *p, size_t n);
	ssize_t (*write)(struct stream *s, const void *p, size_t n);
	int (*shutdown)(struct stream *s); /* no more writes; 0 or -EAGAIN */
	void (*done)(struct stream *s);
	bool (*holds)(const struct stream *s);
	int (*want)(struct stream *s, uint32_t events); /* NULL: epoll watches the descriptor */
};

/* In place of the descriptor of a stream that lies over another connection: system calls that it is
 * given to fail with EBADF. */
#define STREAM_OVER INT32_MAX

struct stream {
	const struct stream_ops *ops;
	struct ev_io io; /* io.fd is owned; -1: none */
	void *tls;	 /* SSL * */
	void *below;	 /* the layer that TLS reads from */
	bool event;	 /* one has come since TLS looked */
	bool readable;
	bool read_wants_out, write_wants_in; /* TLS: waits for the other direction */
	bool ended; /* an event told of the other side's end, which is still to be read */
	bool eof;
	bool gone; /* both directions have ended, by a reset mostly */
};

void stream_init(struct stream *s, int fd, ev_io_fn *fn);
/* Closes the descriptor and frees what lies over it; want 0 first is done here. */
void stream_done(struct stream *s, struct ev *ev);
static inline bool stream_open(const struct stream *s)
{
	return s->io.fd >= 0;
}

/* > 0, 0 at the end (eof is set), -EAGAIN, or -errno. */
ssize_t stream_read(struct stream *s, void *p, size_t n);
/* At least one byte, -EAGAIN, or -errno. */
ssize_t stream_write(struct stream *s, const void *p, size_t n);
int stream_shutdown(struct stream *s);
/* Bytes that were taken from the socket and not yet read from the stream. */
bool stream_holds(const struct stream *s);
/* Interest in reading and writing, translated to what the layer below waits for. */
int stream_want(struct stream *s, struct ev *ev, bool in, bool out);
/* Interest in nothing but its being gone. */
int stream_want_gone(struct stream *s, struct ev *ev);
/*
 * Interest in everything, told once: for one who reads until there is no more and writes until no
 * more is taken. Not for TLS.
 */
#define STREAM_EDGES (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
/* Notes what an event brought. */
void stream_event(struct stream *s, uint32_t events);
/* Writes as much of b as goes: 0 when b is empty now, -EAGAIN, or -errno. *ret_n: bytes written. */
int stream_flush(struct stream *s, struct buf *b, uint64_t *count);
/* Writes p, keeping in b what the stream did not take; b must be able to hold it. 0 or -errno. */
int stream_send(struct stream *s, struct buf *b, const void *p, size_t n, uint64_t *count);

/* From now on TCP keep-alive finds out whether the other end is still there. */
void socket_probe(int fd);
/* The next close sends RST. */
void socket_reset_on_close(int fd);
