#pragma once

#include "base/buf.h"
#include "base/ev.h"

/*
 * Two connected sockets whose bytes are copied both ways, each side read only while the other takes
 * them; the end of one direction is passed on. Embedded in its owner.
 */
struct duplex {
	struct ev *ev;
	struct ev_io io[2];	/* both nonblocking, and owned */
	struct buf out[2];	/* bytes that this side has still to take */
	bool ended[2], told[2]; /* this side sends no more; it was told that the other does not */
	bool closed;
	void (*over)(struct duplex *d); /* called once when closed: frees the owner, deferred */
};

/* Begins with the first socket; each direction holds at most max bytes. */
void duplex_init(struct duplex *d, struct ev *ev, int fd, size_t max);
/* Adds the second socket, which may still be connecting; copying begins. */
void duplex_join(struct duplex *d, int fd);
void duplex_close(struct duplex *d);
void duplex_done(struct duplex *d); /* memory */
