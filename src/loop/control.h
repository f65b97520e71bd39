#pragma once

#include "base/err.h"
#include "base/ev.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Control of a loop from outside: signals, and the file `active`, by which `ralph pause` and `ralph
 * stop` find the loop. SIGINT asks for a pause after the iteration; a second SIGINT stops at once.
 * SIGTERM and SIGHUP stop at once.
 */
struct control {
	struct ev *ev;
	struct ev_io io;
	int fd;	   /* of the signals */
	int lock;  /* of the state, held: one loop per workspace */
	int dir;   /* .ralph; not owned */
	int apart; /* the state directory if it is outside the workspace, else -1; not owned */
	bool pause;
	int stop; /* the signal that stops the loop; 0: none */
	/* Called at each change; may be NULL. */
	void (*changed)(void *arg);
	void *arg;
	/* Likewise, for as long as there are workers: whatever else the loop waits for. */
	void (*workers)(void *arg);
	void *workers_arg;
};

#define CONTROL_INIT                                                                               \
	{                                                                                          \
		.fd = -1, .lock = -1, .dir = -1, .apart = -1                                       \
	}

/*
 * Takes the workspace: -EBUSY when another loop has it, named with its process. dir: .ralph. With
 * the state apart, `active` is there as well, and counts there: .ralph/active is for the hooks of
 * an agent without a sandbox.
 */
int control_take(struct control *c, int dir, int state, bool apart, struct err *err);
/* From this call on the loop handles its signals itself. */
int control_listen(struct control *c, struct ev *ev, struct err *err);
/* Handles the signals that arrived since the event loop last ran. */
void control_look(struct control *c);
void control_release(struct control *c);

static inline bool control_wants_end(const struct control *c)
{
	return c->pause || c->stop;
}
