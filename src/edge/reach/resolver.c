#include "edge/reach/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "flow/isolate.h"

/* The directories that getaddrinfo reads: its settings, and the modules that nsswitch names. */
static const char *const lookup_paths[] = {
	"/etc",	    "/lib",	    "/lib64",	      "/usr/lib",   "/usr/lib64", "/run",
	"/var/run", "/var/lib/sss", "/usr/local/lib", "/nix/store", "/gnu/store", NULL,
};

/*
 * DOC: Theory of operation
 *
 * The helper reads questions into a queue of LOOKUPS_MAX, hands each to a worker that is free
 * (forking one if fewer than LOOKUP_WORKERS are there), and passes the answer back. A worker does
 * one look-up at a time. One that misses its deadline is killed and its question answered with
 * EAI_AGAIN. Everything here is one poll(2) loop; nothing is freed but by exiting.
 */
struct worker {
	pid_t pid; /* 0: none */
	int sock;
	uint32_t id; /* the question it works on; 0: free */
	uint64_t due;
};

struct helper {
	int sock;
	struct worker workers[LOOKUP_WORKERS];
	struct resolver_ask queue[LOOKUPS_MAX];
	uint64_t due[LOOKUPS_MAX];
	size_t head, n;
};

static void collect(const struct addrinfo *list, struct resolver_answer *a)
{
	for (; list && a->n < ADDRS_MAX; list = list->ai_next) {
		uint16_t port;

		if (ip_from_sockaddr(list->ai_addr, &a->addrs[a->n], &port) == 0)
			a->n++;
	}
}

static _Noreturn void worker_main(int sock)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct resolver_ask ask;

	if (confine_calls(worker) < 0)
		_exit(1);
	while (recv(sock, &ask, sizeof(ask), 0) == sizeof(ask)) {
		struct resolver_answer a = {.id = ask.id};
		struct addrinfo *list = NULL;

		ask.name[sizeof(ask.name) - 1] = '\0';
		a.error = getaddrinfo(ask.name, NULL, &hints, &list);
		if (a.error == 0)
			collect(list, &a);
		if (list)
			freeaddrinfo(list);
		if (send(sock, &a, sizeof(a), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static void answer(struct helper *h, uint32_t id, int error)
{
	struct resolver_answer a = {.id = id, .error = error};

	(void)send(h->sock, &a, sizeof(a), MSG_NOSIGNAL);
}

static void worker_end(struct worker *w)
{
	(void)kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	closep(&w->sock);
	*w = (struct worker){.sock = -1};
}

static int worker_start(struct helper *h, struct worker *w)
{
	pid_t us = getpid();
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != us)
			_exit(1);
		(void)close(pair[0]);
		(void)close(h->sock);
		for (size_t i = 0; i < LOOKUP_WORKERS; i++)
			closep(&h->workers[i].sock);
		worker_main(pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return -EAGAIN;
	}
	*w = (struct worker){.pid = pid, .sock = pair[0]};
	return 0;
}

static struct worker *free_worker(struct helper *h)
{
	for (size_t i = 0; i < LOOKUP_WORKERS; i++)
		if (h->workers[i].pid && !h->workers[i].id)
			return &h->workers[i];
	for (size_t i = 0; i < LOOKUP_WORKERS; i++)
		if (!h->workers[i].pid)
			return worker_start(h, &h->workers[i]) == 0 ? &h->workers[i] : NULL;
	return NULL;
}

static void dispatch(struct helper *h)
{
	while (h->n) {
		struct resolver_ask *ask = &h->queue[h->head];
		uint64_t due = h->due[h->head];
		struct worker *w;

		if (due <= now_ms()) {
			answer(h, ask->id, EAI_AGAIN);
		} else {
			w = free_worker(h);
			if (!w)
				return;
			if (send(w->sock, ask, sizeof(*ask), MSG_NOSIGNAL) < 0) {
				worker_end(w);
				continue;
			}
			w->id = ask->id;
			w->due = due;
		}
		h->head = (h->head + 1) % LOOKUPS_MAX;
		h->n--;
	}
}

static void take_question(struct helper *h)
{
	struct resolver_ask ask;
	ssize_t n = recv(h->sock, &ask, sizeof(ask), MSG_DONTWAIT);
	size_t slot = (h->head + h->n) % LOOKUPS_MAX;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		_exit(0);
	if (n != sizeof(ask))
		return;
	if (h->n == LOOKUPS_MAX) {
		answer(h, ask.id, EAI_AGAIN);
		return;
	}
	h->queue[slot] = ask;
	h->due[slot] = now_ms() + ask.timeout_ms;
	h->n++;
}

static void take_answer(struct helper *h, struct worker *w)
{
	struct resolver_answer a;
	ssize_t n = recv(w->sock, &a, sizeof(a), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == sizeof(a) && a.id == w->id && a.n <= ADDRS_MAX) {
		(void)send(h->sock, &a, sizeof(a), MSG_NOSIGNAL);
		w->id = 0;
		return;
	}
	if (w->id)
		answer(h, w->id, EAI_FAIL);
	worker_end(w);
}

static void end_late_ones(struct helper *h)
{
	uint64_t now = now_ms();

	for (size_t i = 0; i < LOOKUP_WORKERS; i++) {
		struct worker *w = &h->workers[i];

		if (!w->pid || !w->id || w->due > now)
			continue;
		answer(h, w->id, EAI_AGAIN);
		worker_end(w);
	}
}

static int wait_ms(const struct helper *h)
{
	uint64_t now = now_ms(), soonest = UINT64_MAX;

	for (size_t i = 0; i < LOOKUP_WORKERS; i++)
		if (h->workers[i].pid && h->workers[i].id && h->workers[i].due < soonest)
			soonest = h->workers[i].due;
	if (soonest == UINT64_MAX)
		return -1;
	return soonest <= now ? 0 : (int)(soonest - now);
}

int resolver_isolate(int sock)
{
	int r;

	/* Standard error stays for what the C library may have to say; all else but sock goes. */
	if ((sock > 3 && close_range(3, (unsigned)sock - 1, 0) < 0) ||
	    close_range((unsigned)sock + 1, ~0u, 0) < 0)
		return -errno;
	r = isolate_rights();
	if (r == 0)
		r = isolate_files(lookup_paths, NULL, NULL, 0);
	return r < 0 ? r : confine_calls(helper);
}

_Noreturn void resolver_main(int sock)
{
	static struct helper h;

	h.sock = sock;
	for (size_t i = 0; i < LOOKUP_WORKERS; i++)
		h.workers[i].sock = -1;
	for (;;) {
		struct pollfd p[LOOKUP_WORKERS + 1] = {{.fd = sock, .events = POLLIN}};

		for (size_t i = 0; i < LOOKUP_WORKERS; i++)
			p[i + 1] = (struct pollfd){.fd = h.workers[i].sock, .events = POLLIN};
		if (poll(p, ARRAY_SIZE(p), wait_ms(&h)) < 0 && errno != EINTR)
			_exit(1);
		for (size_t i = 0; i < LOOKUP_WORKERS; i++)
			if (p[i + 1].revents && h.workers[i].pid)
				take_answer(&h, &h.workers[i]);
		if (p[0].revents)
			take_question(&h);
		end_late_ones(&h);
		dispatch(&h);
	}
}
