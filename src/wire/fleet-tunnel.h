#pragma once

#include "base/ev.h"
#include "wire/fleet.h"

/*
 * One end of a tunnel: a socket of this machine, and a channel of the stream. Node and home have the same.
 *
 * DOC: Theory of operation
 *
 * Each direction has at most FLEET_CREDIT bytes on their way; WINDOW says what was taken. The socket is read only
 * while the other end has room and the stream's queue is short, so a slow reader stops its sender, and costs
 * FLEET_CREDIT at each end. A tunnel ends when both directions have ended (CLOSE with 0), or at once with an
 * error.
 */
struct fleet_line { /* the stream, as its tunnels see it */
	struct ev *ev;
	struct fleet_out *out;
	uint32_t id;					 /* the slot */
	void (*flush)(struct fleet_line *line);		 /* something was put into the queue */
	bool (*has_room)(const struct fleet_line *line); /* for bulk */
};

struct fleet_tunnel {
	struct fleet_line *line; /* NULL: never used */
	uint32_t channel;
	int fd;	   /* owned, non-blocking; -1: there is no tunnel here */
	bool open; /* bytes may pass */
	struct ev_io io;
	struct buf down; /* from the stream, for the socket */
	size_t credit;	 /* bytes of the socket's that may be sent now */
	size_t taken;	 /* bytes for the socket that the other end was not told of */
	bool up_ended, down_ended;
};

static inline bool fleet_tunnel_used(const struct fleet_tunnel *t)
{
	return t->line && t->fd >= 0;
}

/* Takes fd. Nothing is read or written before fleet_tunnel_begin(); until then io is the caller's. */
void fleet_tunnel_init(struct fleet_tunnel *t, struct fleet_line *line, uint32_t channel, int fd);
/* Both ends know of it: bytes pass from now on. */
void fleet_tunnel_begin(struct fleet_tunnel *t);
/* Bytes that were read from the socket before it began; at most FLEET_CREDIT. */
void fleet_tunnel_send(struct fleet_tunnel *t, const void *p, size_t n);
/* DATA, CLOSE or WINDOW of this channel. -EPROTO: the other end breaks the rules. */
int fleet_tunnel_take(struct fleet_tunnel *t, const struct fleet_msg *m);
/* The channel of OPENED, DATA, CLOSE or WINDOW; -EPROTO. */
int fleet_tunnel_channel(const struct fleet_msg *m, uint32_t *ret);
/* The stream has room again. */
void fleet_tunnel_resume(struct fleet_tunnel *t);
/* Tells the other end this error, and ends it here. */
void fleet_tunnel_fail(struct fleet_tunnel *t, int eno);
/* Ends it without a word; does nothing where there is none. */
void fleet_tunnel_drop(struct fleet_tunnel *t);
