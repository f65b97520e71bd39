#include "edge/reach/dial.h"

#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "flow/stream.h"

struct attempt {
	struct dial *dial;
	struct ev_io io;
};

struct dial {
	struct gw *gw;
	struct ip addrs[ADDRS_MAX];
	size_t n, next;
	uint16_t port;
	struct attempt attempts[DIALS_PARALLEL];
	size_t running;
	struct ev_timer stagger;
	struct ev_defer gone;
	dial_fn *fn;
	void *arg;
	int error;
	bool over;
};

void dial_order(struct ip *addrs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		size_t j = i;

		while (j < n && addrs[j].v6 == addrs[i - 1].v6)
			j++;
		if (j < n && j > i) {
			struct ip a = addrs[j];

			memmove(&addrs[i + 1], &addrs[i], (j - i) * sizeof(addrs[0]));
			addrs[i] = a;
		}
	}
}

static void close_attempt(struct attempt *a)
{
	if (a->io.fd < 0)
		return;
	ev_closing(a->dial->gw->ev, &a->io);
	closep(&a->io.fd);
	a->dial->running--;
}

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	free(ev_owner(d, struct dial, gone));
}

struct dial *dial_cancel(struct dial *d)
{
	if (!d || d->over)
		return NULL;
	d->over = true;
	ev_timer_stop(d->gw->ev, &d->stagger);
	for (size_t i = 0; i < DIALS_PARALLEL; i++)
		close_attempt(&d->attempts[i]);
	ev_defer(d->gw->ev, &d->gone);
	return NULL;
}

static void finish(struct dial *d, struct ev_io *io, uint32_t events, int error)
{
	dial_fn *fn = d->fn;
	void *arg = d->arg;

	(void)dial_cancel(d);
	fn(arg, io, events, error);
}

static void on_stagger(struct ev *ev, struct ev_timer *t);
static void on_connect(struct ev *ev, struct ev_io *io, uint32_t events);

static struct attempt *free_attempt(struct dial *d)
{
	for (size_t i = 0; i < DIALS_PARALLEL; i++)
		if (d->attempts[i].io.fd < 0)
			return &d->attempts[i];
	return NULL;
}

/* 0: under way; else the address cannot be had. */
static int try_address(struct dial *d, struct attempt *a, const struct ip *ip)
{
	struct sockaddr_storage sa;
	socklen_t len = ip_to_sockaddr(ip, d->port, &sa);
	cleanup_fd int fd =
		socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sa, len) < 0 && errno != EINPROGRESS)
		return -errno;
	a->io = (struct ev_io){.fd = fd, .fn = on_connect};
	if (ev_want(d->gw->ev, &a->io, STREAM_EDGES) < 0) {
		a->io.fd = -1;
		return -ENOSPC;
	}
	(void)take_fd(fd);
	d->running++;
	return 0;
}

/* Starts the next address that can be started; the timer brings the one after it. */
static void start_next(struct dial *d)
{
	struct attempt *a = free_attempt(d);

	while (a && d->next < d->n) {
		int r = try_address(d, a, &d->addrs[d->next++]);

		if (r == 0) {
			if (d->next < d->n)
				ev_timer_set(d->gw->ev, &d->stagger, DIAL_STAGGER_MS);
			return;
		}
		d->error = -r;
	}
	/* Nothing left: told by the timer, since the caller may still be in dial_start(). */
	if (d->running == 0)
		ev_timer_set(d->gw->ev, &d->stagger, 0);
}

static void on_stagger(struct ev *ev, struct ev_timer *t)
{
	struct dial *d = ev_owner(t, struct dial, stagger);

	if (d->running == 0 && d->next >= d->n)
		finish(d, NULL, 0, d->error ? d->error : EHOSTUNREACH);
	else
		start_next(d);
}

static void on_connect(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct attempt *a = ev_owner(io, struct attempt, io);
	struct dial *d = a->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	if ((events & (EPOLLERR | EPOLLHUP)) &&
	    getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0) {
		struct ev_io won;

		ev_move(ev, io, &won);
		d->running--;
		finish(d, &won, events, 0);
		return;
	}
	d->error = error;
	close_attempt(a);
	start_next(d);
}

struct dial *dial_start(struct gw *gw, const struct ip *addrs, size_t n, uint16_t port, dial_fn *fn,
			void *arg)
{
	struct dial *d = xcalloc(1, sizeof(*d));

	d->gw = gw;
	d->n = n < ADDRS_MAX ? n : ADDRS_MAX;
	memcpy(d->addrs, addrs, d->n * sizeof(addrs[0]));
	dial_order(d->addrs, d->n);
	d->port = port;
	d->fn = fn;
	d->arg = arg;
	d->stagger.fn = on_stagger;
	d->gone.fn = on_gone;
	for (size_t i = 0; i < DIALS_PARALLEL; i++)
		d->attempts[i] = (struct attempt){.dial = d, .io = {.fd = -1}};
	start_next(d);
	return d;
}
