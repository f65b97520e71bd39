#pragma once

#include "base/ev.h"
#include "cli/terminal/filter.h"

#include <stdbool.h>

/*
 * Copies one descriptor to another inside an event loop, with one buffer of a fixed size: nothing
 * is read while something is still to be written. `to` is set non-blocking only when it is ours.
 */
#define RELAY_CHUNK (32 * KiB)
#define RELAY_TAIL 4096 /* last bytes that are kept of what was written to a terminal */

struct relay {
	struct ev_io in, out;
	struct ev *ev;
	bool active;
	bool always_ready; /* `from` is a file or /dev/null: epoll cannot wait for it */
	bool types_end;	   /* the end of `from` is typed into `to`, a pty */
	bool close_to;	   /* `to` is ours: closed at the end, so that the reader sees it */
	struct buf pending;
	struct filter *filter;
	enum filter_wish missed; /* by the filter, once it has ended */
	char tail[RELAY_TAIL];	 /* RELAY_TO_TERMINAL: the last bytes */
	size_t n_tail;
	void (*on_end)(struct relay *r);
	void (*on_stop)(
		struct relay *r); /* Ctrl-Z was typed: called, and the key is not passed on */
};

enum relay_flags {
	RELAY_TO_TERMINAL = 1 << 0, /* filter what passes; writes may block */
	RELAY_CLOSE_TO = 1 << 1,
	RELAY_TYPE_END = 1 << 2, /* `to` is a pty, which stays open: its reader sees the end of a
				    file that `from` has */
};

/* allowed: with RELAY_TO_TERMINAL. */
void relay_start(struct relay *r, struct ev *ev, int from, int to, enum relay_flags flags,
		 enum filter_wish allowed);
/* A terminal that it wrote to is left as it was: see modes.h. */
void relay_stop(struct relay *r);
/* Everything that can be read right now is written; for the end of a command. */
void relay_drain(struct relay *r);
/* The same for a command that was stopped: others may still write, so it takes RELAY_CHUNKS_MAX
 * chunks at most. */
#define RELAY_CHUNKS_MAX 64
void relay_catch_up(struct relay *r);
