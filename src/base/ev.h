#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/*
 * DOC: Theory of operation
 *
 * One epoll, one heap of timers, one list of deferred work. An ev_io or ev_timer is embedded in
 * its owner, which must outlive it. A callback may change the interest of any io, its own
 * included, and may stop timers; it must not free an owner: freeing happens in ev_defer()
 * callbacks, which run after the batch of events that is being handled. An event for an io whose
 * interest has become 0 in the same batch is dropped.
 */
struct ev;
struct ev_io;
struct ev_timer;
struct ev_defer;

typedef void ev_io_fn(struct ev *ev, struct ev_io *io, uint32_t events);
typedef void ev_timer_fn(struct ev *ev, struct ev_timer *t);
typedef void ev_defer_fn(struct ev *ev, struct ev_defer *d);

struct ev_io {
	int fd; /* not owned */
	uint32_t want;
	ev_io_fn *fn;
};

struct ev_timer {
	ev_timer_fn *fn;
	uint64_t at; /* now_ms() it is due */
	size_t slot; /* place in the heap + 1; 0: not armed */
};

struct ev_defer {
	ev_defer_fn *fn;
	struct ev_defer *next;
	bool queued;
};

#define ev_owner(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

int ev_new(struct ev **ret, struct err *err);
void ev_free(struct ev *ev);
DEFINE_FREEP(struct ev, ev_free)
/*
 * From now on the soonest timer is kept in a descriptor, and waiting has no limit of its own: a wait
 * with a limit starts and cancels a timer of the kernel each time. For programs that wait tens of
 * thousands of times a second. A filter of system calls has to let timerfd_settime() pass.
 */
int ev_keep_alarm(struct ev *ev, struct err *err);

/* Interest: a set of EPOLLIN, EPOLLOUT …; 0 takes the io out. Before closing io->fd, want 0. */
int ev_want(struct ev *ev, struct ev_io *io, uint32_t events);
/* Another owner has the descriptor from now on, with the same interest; from->fd becomes -1. */
void ev_move(struct ev *ev, struct ev_io *from, struct ev_io *to);
/* As want 0 for a descriptor that its owner, the only one who holds it, closes next. */
void ev_closing(struct ev *ev, struct ev_io *io);
void ev_timer_set(struct ev *ev, struct ev_timer *t, uint64_t in_ms);
void ev_timer_stop(struct ev *ev, struct ev_timer *t);
void ev_defer(struct ev *ev, struct ev_defer *d); /* once, however often it is asked for */

/*
 * Signals of this set are blocked and read from the descriptor in *ret (nonblocking, owned by the
 * caller); ev_signal_read() gives the next one, or 0.
 */
int ev_signalfd(const int *signals, size_t n, int *ret, struct err *err);
int ev_signal_read(int fd);

/* Runs until ev_stop(); 0 or -errno. The time of the current batch is ev_now(). */
int ev_run(struct ev *ev, struct err *err);
void ev_stop(struct ev *ev);
uint64_t ev_now(const struct ev *ev);
