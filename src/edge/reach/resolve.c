#include "edge/reach/resolve.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "edge/edge.h"
#include "edge/reach/resolver.h"

struct kept {
	char name[256];
	struct ip addrs[ADDRS_MAX];
	size_t n;
	uint64_t until;
};

struct resolver {
	struct gw *gw;
	struct ev_io io;
	struct lookup *running;
	struct kept kept[LOOKUPS_KEPT];
	size_t next_kept;
};

int resolver_start(struct gw *gw, struct err *err)
{
	pid_t us = getpid();
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "cannot create a socket pair");
	pid = fork();
	if (pid < 0) {
		int eno = errno;

		(void)close(pair[0]);
		(void)close(pair[1]);
		return err_sys(err, eno, "cannot start the resolver");
	}
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != us)
			_exit(1);
		if (resolver_isolate(pair[1]) < 0)
			_exit(1);
		resolver_main(pair[1]);
	}
	(void)close(pair[1]);
	gw->edge->resolver = xcalloc(1, sizeof(*gw->edge->resolver));
	gw->edge->resolver->gw = gw;
	gw->edge->resolver->io.fd = pair[0];
	return fd_set_nonblock(pair[0], true);
}

static struct lookup *take(struct resolver *r, uint32_t id)
{
	for (struct lookup **p = &r->running; *p; p = &(*p)->next)
		if ((*p)->id == id) {
			struct lookup *l = *p;

			*p = l->next;
			l->id = 0;
			r->gw->health.lookups--;
			return l;
		}
	return NULL;
}

static struct kept *find_kept(struct resolver *r, const char *name)
{
	for (size_t i = 0; i < LOOKUPS_KEPT; i++)
		if (streq(r->kept[i].name, name))
			return &r->kept[i];
	return NULL;
}

static void keep(struct resolver *r, const struct lookup *l, const struct resolver_answer *a)
{
	struct kept *k = find_kept(r, l->name);

	if (a->error || a->n == 0)
		return;
	if (!k)
		k = &r->kept[r->next_kept++ % LOOKUPS_KEPT];
	(void)snprintf(k->name, sizeof(k->name), "%s", l->name);
	memcpy(k->addrs, a->addrs, a->n * sizeof(a->addrs[0]));
	k->n = a->n;
	k->until = ev_now(r->gw->ev) + LOOKUP_KEEP_MS;
}

size_t lookup_known(struct gw *gw, const char *name, struct ip ret[static ADDRS_MAX])
{
	const struct kept *k = find_kept(gw->edge->resolver, name);

	if (!k || k->until <= ev_now(gw->ev))
		return 0;
	memcpy(ret, k->addrs, k->n * sizeof(ret[0]));
	return k->n;
}

static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct resolver *r = ev_owner(io, struct resolver, io);
	struct resolver_answer a;

	for (;;) {
		ssize_t n = recv(io->fd, &a, sizeof(a), 0);
		struct lookup *l;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			/* Without its helper the gateway can reach nothing by name. */
			gw_quit(r->gw);
			return;
		}
		if (n != sizeof(a) || a.n > ADDRS_MAX)
			continue;
		l = take(r, a.id);
		if (!l)
			continue;
		keep(r, l, &a);
		l->fn(l, a.error, a.addrs, a.n);
	}
}

int resolver_attach(struct gw *gw, struct err *err)
{
	int r;

	gw->edge->resolver->io.fn = on_answer;
	r = ev_want(gw->ev, &gw->edge->resolver->io, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the resolver") : 0;
}

int lookup_start(struct gw *gw, struct lookup *l, const char *name, lookup_fn *fn)
{
	struct resolver_ask ask = {0};

	if (gw->health.lookups >= LOOKUPS_MAX || strlen(name) >= sizeof(ask.name))
		return -EBUSY;
	ask.id = ++gw->last_id ? gw->last_id : ++gw->last_id;
	ask.timeout_ms = gw->config->lookup_ms ? gw->config->lookup_ms : LOOKUP_MS;
	memcpy(ask.name, name, strlen(name));
	if (send(gw->edge->resolver->io.fd, &ask, sizeof(ask), MSG_NOSIGNAL) < 0)
		return -EBUSY;
	*l = (struct lookup){.gw = gw,
			     .id = ask.id,
			     .fn = fn,
			     .next = gw->edge->resolver->running,
			     .name = name};
	gw->edge->resolver->running = l;
	gw->health.lookups++;
	return 0;
}

void lookup_cancel(struct lookup *l)
{
	if (l->id)
		(void)take(l->gw->edge->resolver, l->id);
}
