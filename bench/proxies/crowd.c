/*
 * Many connections of one way that stay open, and the time of a request over one of them. Each
 * crowd is a process: ten thousand connections of several ways are more descriptors than one may
 * have, and so all ways can be measured in turn while all of them are there.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CROWD 10000
#define MAX_SAMPLES 400000
#define WARM_UP 64 /* requests that are not counted */

struct order {
	size_t grow;	/* to so many; 0: measure */
	double seconds; /* of measuring */
};

static struct held held[MAX_CROWD];
static size_t n_held;

/* A proxy may close a connection that nobody used for a minute; as any client, we make it anew. */
static void again(const struct way *w, SSL_CTX *ctx, struct held *h)
{
	conn_close(h);
	load_hold(w, ctx, h, 1);
}

static void measure(const struct way *w, SSL_CTX *ctx, double seconds, struct result *ret)
{
	static double us[MAX_SAMPLES];
	size_t n = 0, asked = 0;
	uint64_t until;

	*ret = (struct result){0};
	until = now_ns() + (uint64_t)(seconds * 1e9);
	while (n < MAX_SAMPLES && now_ns() < until) {
		struct held *h = &held[(size_t)random() % n_held];
		uint64_t start = now_ns();

		if (!conn_exchange(w, h)) {
			again(w, ctx, h);
			continue;
		}
		if (++asked > WARM_UP)
			us[n++] = (double)(now_ns() - start) / 1e3;
	}
	ret->seconds = seconds;
	load_sum_up(us, n, ret);
}

static _Noreturn void serve(const struct way *w, SSL_CTX *ctx, int sock)
{
	struct order o;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(sock, &o, sizeof(o), 0) == sizeof(o)) {
		struct result r = {0};

		while (n_held < o.grow)
			load_hold(w, ctx, &held[n_held++], 1);
		if (!o.grow)
			measure(w, ctx, o.seconds, &r);
		(void)send(sock, &r, sizeof(r), MSG_NOSIGNAL);
	}
	_exit(0);
}

void crowd_start(struct crowd *c, const struct way *w, SSL_CTX *ctx)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair", strerror(errno));
	*c = (struct crowd){.way = w, .pid = fork(), .sock = pair[0]};
	if (c->pid < 0)
		die("fork", strerror(errno));
	if (c->pid == 0) {
		(void)close(pair[0]);
		serve(w, ctx, pair[1]);
	}
	(void)close(pair[1]);
}

static void ask(struct crowd *c, const struct order *o, struct result *ret)
{
	if (send(c->sock, o, sizeof(*o), MSG_NOSIGNAL) != sizeof(*o) ||
	    recv(c->sock, ret, sizeof(*ret), 0) != sizeof(*ret))
		die(c->way->name, "the crowd is gone");
}

void crowd_grow(struct crowd *c, size_t n)
{
	struct result ignored;

	ask(c, &(struct order){.grow = n}, &ignored);
}

void crowd_measure(struct crowd *c, double seconds, struct result *ret)
{
	ask(c, &(struct order){.seconds = seconds}, ret);
}

void crowd_end(struct crowd *c)
{
	/* Not by closing its socket: crowds that were started later have it too. */
	(void)kill(c->pid, SIGKILL);
	(void)close(c->sock);
	(void)waitpid(c->pid, NULL, 0);
}
