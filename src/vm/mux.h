#pragma once

/*
 * ROOM: vm
 *
 * Both ends of a virtual machine's line: the program beside QEMU, and the first process in the
 * machine. Nothing secret is here, and neither end believes the other.
 */

#include "wire/remote.h"
#include "wire/wire.h"

#include <poll.h>

/*
 * DOC: Theory of operation
 *
 * No descriptor enters or leaves a virtual machine. So the frames of the guest travel over one
 * stream of bytes (remote_send()'s form), and each descriptor that would have come along has a
 * channel beside them: what is read from it at one end is written to one at the other.
 *
 * A sender has MUX_CREDIT bytes of credit for each channel, and gets it back as the other end
 * writes them out. So a reader that does not read stops its own channel and no other, and no more
 * than MUX_CREDIT bytes of a channel wait anywhere. Who sends more than it may, or a frame that is
 * too large, is broken: mux_turn() says so, and the machine ends.
 *
 * Descriptors of users are never made non-blocking, since others have them too: they are polled
 * first, and a pipe is given no more than it takes at once.
 *
 * The end of a command is held back until its channels have given out what it wrote.
 */
#define MUX_CREDIT (64 * KiB)
#define MUX_CHANNELS_MAX 2048
#define MUX_HELD_MAX 1024	  /* ends of commands that wait for their output */
#define MUX_QUEUE_PAUSE (1 * MiB) /* nothing more is read while so much waits to be sent */
#define MUX_QUEUE_MAX (64 * MiB)

enum mux_which { MUX_IN, MUX_OUT, MUX_ERR, MUX_TTY, MUX_CONNECTION, MUX_DIALLED, MUX_WHICH_N };

enum mux_ways {
	MUX_READS = 1 << 0,  /* this end reads the descriptor */
	MUX_WRITES = 1 << 1, /* it writes to it */
};

struct mux_channel {
	struct mux_channel *next;
	uint32_t id;
	enum mux_which which;
	int fd;
	unsigned ways;	 /* of enum mux_ways, those that are not over */
	uint32_t credit; /* bytes that may be sent */
	uint32_t taken;	 /* bytes written out that the other end was not told of */
	struct buf out;
	bool ending;	    /* the other end sends no more */
	bool socket, waits; /* what fd is; it does not block */
	size_t slot;	    /* in the list of this turn; 0: none */
};

struct mux_held {
	struct mux_held *next;
	enum wire_type type;
	uint32_t id;
	struct buf body;
};

struct mux {
	int line; /* non-blocking */
	struct buf in, out;
	struct mux_channel *channels;
	size_t n_channels, n_held;
	struct mux_held *held;
	/* A frame of another kind than the channels' own. -errno ends the mux. */
	int (*frame)(struct mux *m, struct wire_msg *msg, struct buf *program);
	/* The end of a command, when its output is out. */
	int (*over)(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body);
	void *owner;
};

void mux_init(struct mux *m, int line);
void mux_done(struct mux *m);
/* Takes fd, in any case. NULL: there are too many. */
struct mux_channel *mux_add(struct mux *m, uint32_t id, enum mux_which which, int fd,
			    unsigned ways);
struct mux_channel *mux_find(const struct mux *m, uint32_t id, enum mux_which which);
/* Ends what is left of a command's channels; what was not given out is dropped. */
void mux_drop(struct mux *m, uint32_t id);
/* Queues a frame. -EMSGSIZE when more waits than may. */
int mux_send(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body,
	     const struct buf *program);
/* over() is called when no channel of that command's output is left, maybe at once. */
int mux_hold(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body);

/* Nothing else should be read now: too much waits to be sent. */
static inline bool mux_is_full(const struct mux *m)
{
	return m->out.len > MUX_QUEUE_PAUSE;
}

/* Rows of a poll(): at most 1 + MUX_CHANNELS_MAX. Between the two calls nothing else is called. */
#define MUX_ROWS_MAX (1 + MUX_CHANNELS_MAX)
size_t mux_gather(struct mux *m, struct pollfd *p);
/* 0; -EPIPE at the end of the line; -EPROTO. */
int mux_turn(struct mux *m, const struct pollfd *p);
