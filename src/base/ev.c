#include "base/ev.h"

#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"

#define EV_BATCH 64

struct ev {
	int epfd;
	bool stop;
	uint64_t now;
	struct ev_timer **heap; /* by due time, soonest first */
	size_t n_timers, cap;
	struct ev_io alarm; /* of ev_keep_alarm(); fd -1: none */
	uint64_t rings;	    /* ms when the alarm is due; 0: not set */
	struct ev_defer *deferred;
	struct ev_io **ios; /* by descriptor; NULL: nobody wants its events */
	size_t n_ios;
	struct epoll_event *batch; /* events of the running batch not yet handled */
	int batch_left;
};

int ev_new(struct ev **ret, struct err *err)
{
	struct ev *ev = xcalloc(1, sizeof(*ev));

	ev->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (ev->epfd < 0) {
		int eno = errno;

		free(ev);
		return err_sys(err, eno, "cannot create an epoll");
	}
	ev->now = now_ms();
	ev->alarm.fd = -1;
	*ret = ev;
	return 0;
}

static void on_alarm(struct ev *ev, struct ev_io *io, uint32_t events)
{
	ev->rings = 0;
}

int ev_keep_alarm(struct ev *ev, struct err *err)
{
	int r;

	ev->alarm.fn = on_alarm;
	ev->alarm.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	/* Edges: nobody reads how often it rang. */
	r = ev->alarm.fd < 0 ? -errno : ev_want(ev, &ev->alarm, EPOLLIN | EPOLLET);
	return r < 0 ? err_sys(err, -r, "cannot create a timer") : 0;
}

void ev_free(struct ev *ev)
{
	if (!ev)
		return;
	closep(&ev->alarm.fd);
	closep(&ev->epfd);
	free(ev->heap);
	free(ev->ios);
	free(ev);
}

uint64_t ev_now(const struct ev *ev)
{
	return ev->now;
}

void ev_stop(struct ev *ev)
{
	ev->stop = true;
}

static void set_io(struct ev *ev, int fd, struct ev_io *io)
{
	size_t n = ev->n_ios ? ev->n_ios : 64;

	while (n <= (size_t)fd)
		n *= 2;
	if (n != ev->n_ios) {
		ev->ios = xrealloc(ev->ios, n, sizeof(struct ev_io *));
		memset(ev->ios + ev->n_ios, 0, (n - ev->n_ios) * sizeof(struct ev_io *));
		ev->n_ios = n;
	}
	ev->ios[fd] = io;
}

/* The number may be given to another descriptor before the batch is over: the events of this one are
 * not for that. */
static void forget(struct ev *ev, int fd)
{
	set_io(ev, fd, NULL);
	for (int i = 0; i < ev->batch_left; i++)
		if (ev->batch[i].data.fd == fd)
			ev->batch[i].events = 0;
}

int ev_want(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = io->fd};
	int op = events == 0 ? EPOLL_CTL_DEL : io->want == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (events == io->want)
		return 0;
	if (epoll_ctl(ev->epfd, op, io->fd, &e) < 0)
		return -errno;
	io->want = events;
	if (events == 0)
		forget(ev, io->fd);
	else
		set_io(ev, io->fd, io);
	return 0;
}

void ev_move(struct ev *ev, struct ev_io *from, struct ev_io *to)
{
	to->fd = from->fd;
	to->want = from->want;
	if (to->want)
		set_io(ev, to->fd, to);
	from->fd = -1;
	from->want = 0;
}

void ev_closing(struct ev *ev, struct ev_io *io)
{
	/* The kernel takes a closed description out by itself. */
	if (io->want)
		forget(ev, io->fd);
	io->want = 0;
}

static void heap_put(struct ev *ev, size_t i, struct ev_timer *t)
{
	ev->heap[i] = t;
	t->slot = i + 1;
}

static void sift_up(struct ev *ev, size_t i, struct ev_timer *t)
{
	while (i > 0 && ev->heap[(i - 1) / 2]->at > t->at) {
		heap_put(ev, i, ev->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(ev, i, t);
}

static void sift_down(struct ev *ev, size_t i, struct ev_timer *t)
{
	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= ev->n_timers)
			break;
		if (kid + 1 < ev->n_timers && ev->heap[kid + 1]->at < ev->heap[kid]->at)
			kid++;
		if (ev->heap[kid]->at >= t->at)
			break;
		heap_put(ev, i, ev->heap[kid]);
		i = kid;
	}
	heap_put(ev, i, t);
}

void ev_timer_stop(struct ev *ev, struct ev_timer *t)
{
	size_t i = t->slot - 1;
	struct ev_timer *last;

	if (t->slot == 0)
		return;
	t->slot = 0;
	last = ev->heap[--ev->n_timers];
	if (last == t)
		return;
	if (i > 0 && ev->heap[(i - 1) / 2]->at > last->at)
		sift_up(ev, i, last);
	else
		sift_down(ev, i, last);
}

void ev_timer_set(struct ev *ev, struct ev_timer *t, uint64_t in_ms)
{
	ev_timer_stop(ev, t);
	t->at = now_ms() + in_ms;
	if (ev->n_timers == ev->cap) {
		ev->cap = ev->cap ? ev->cap * 2 : 16;
		ev->heap = xrealloc(ev->heap, ev->cap, sizeof(struct ev_timer *));
	}
	sift_up(ev, ev->n_timers++, t);
}

void ev_defer(struct ev *ev, struct ev_defer *d)
{
	if (d->queued)
		return;
	d->queued = true;
	d->next = ev->deferred;
	ev->deferred = d;
}

static void run_deferred(struct ev *ev)
{
	while (ev->deferred) {
		struct ev_defer *d = ev->deferred;

		ev->deferred = d->next;
		d->queued = false;
		d->fn(ev, d);
	}
}

static void run_timers(struct ev *ev)
{
	while (!ev->stop && ev->n_timers && ev->heap[0]->at <= ev->now) {
		struct ev_timer *t = ev->heap[0];

		ev_timer_stop(ev, t);
		t->fn(ev, t);
	}
}

/* false: the kernel refused, and the wait itself has to be limited. */
static bool set_alarm(struct ev *ev, uint64_t at)
{
	const struct itimerspec due = {.it_value = {.tv_sec = (time_t)(at / 1000),
						    .tv_nsec = (long)(at % 1000) * 1000000}};

	if (ev->alarm.fd < 0 || timerfd_settime(ev->alarm.fd, TFD_TIMER_ABSTIME, &due, NULL) < 0)
		return false;
	ev->rings = at;
	return true;
}

/* An alarm that rings too early costs one round; most timers are set anew before they are due. */
static int timeout_of(struct ev *ev)
{
	uint64_t now, at;

	if (ev->n_timers == 0)
		return -1;
	at = ev->heap[0]->at;
	if (ev->rings && ev->rings <= at)
		return -1;
	now = now_ms();
	if (at <= now)
		return 0;
	if (set_alarm(ev, at))
		return -1;
	return at - now > 60000 ? 60000 : (int)(at - now);
}

static void run_batch(struct ev *ev, struct epoll_event *events, int n)
{
	for (int i = 0; i < n && !ev->stop; i++) {
		struct ev_io *io = ev->ios[events[i].data.fd];

		ev->batch = events + i + 1;
		ev->batch_left = n - i - 1;
		if (io && events[i].events)
			io->fn(ev, io, events[i].events);
	}
	ev->batch_left = 0;
}

int ev_run(struct ev *ev, struct err *err)
{
	struct epoll_event events[EV_BATCH];

	ev->stop = false;
	ev->rings = 0; /* it may have rung while the loop was stopped */
	while (!ev->stop) {
		int n = epoll_wait(ev->epfd, events, EV_BATCH, timeout_of(ev));

		if (n < 0 && errno != EINTR)
			return err_sys(err, errno, "epoll_wait");
		ev->now = now_ms();
		run_batch(ev, events, n);
		run_timers(ev);
		run_deferred(ev);
	}
	return 0;
}
