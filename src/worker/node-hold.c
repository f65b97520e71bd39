#include "worker/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"

#define DIR_NAME "rw-hold"
#define WORKERS_MAX 8
#define TEXT_MAX (4 * KiB) /* of a line */
#define LAST_MS 30000	   /* for workers to end after SIGTERM */

/*
 * A worker's packets are lines for people, or DONE and its exit code. What it has said is printed here, where
 * `kubectl logs` finds it. A packet to a worker, or the end of the line, tells it to end.
 */
#define DONE '\0'

struct hold {
	int listener, signals;
	int workers[WORKERS_MAX];
	uint64_t until; /* now_ms() when it ends */
	int code;	/* of a worker that was done; -1: none was */
};

static char *place(void)
{
	return path_join(node_place(), DIR_NAME);
}

static int address(struct sockaddr_un *sa)
{
	cleanup_free char *dir = place();

	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/socket", dir);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

int hold_join(void)
{
	cleanup_free char *dir = place();
	struct sockaddr_un sa;
	struct stat st;
	cleanup_fd int fd = -1;

	/* Another user's directory is none of ours. */
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077)
		return -1;
	fd = address(&sa);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return take_fd(fd);
}

void hold_tell(int fd, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;
	int n;

	if (fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		(void)send(fd, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1,
			   MSG_NOSIGNAL | MSG_DONTWAIT);
}

void hold_done(int fd, int code)
{
	const char packet[] = {DONE, (char)code};

	if (fd < 0)
		return;
	/* The stream's end is no end of the pod: home may come again. */
	if (code != NODE_STREAM && code != NODE_LEASE)
		(void)send(fd, packet, sizeof(packet), MSG_NOSIGNAL);
	(void)close(fd);
}

/* ---- the process of the pod ---- */

static void say(const char *text, size_t n)
{
	/* What an agent has printed is in it. */
	for (size_t i = 0; i < n; i++)
		(void)putchar((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
	(void)putchar('\n');
	(void)fflush(stdout);
}

static void say_text(const char *text)
{
	say(text, strlen(text));
}

static void take_packet(struct hold *h, int *worker)
{
	char text[TEXT_MAX];
	ssize_t n = recv(*worker, text, sizeof(text), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 2 && text[0] == DONE) {
		h->code = (unsigned char)text[1];
		return;
	}
	if (n > 0) {
		say(text, (size_t)n);
		return;
	}
	say_text(h->code < 0 ? "the worker is gone; another may come" : "the worker is done");
	closep(worker);
	h->until = now_ms() + HOLD_MS;
}

static void take_worker(struct hold *h)
{
	cleanup_fd int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < WORKERS_MAX; i++)
		if (h->workers[i] < 0) {
			h->workers[i] = take_fd(fd);
			say_text("a worker began");
		}
}

static void end_workers(struct hold *h)
{
	say_text("told to end");
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (h->workers[i] >= 0)
			(void)send(h->workers[i], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	h->code = 128 + SIGTERM;
	h->until = now_ms() + LAST_MS;
}

static bool has_worker(const struct hold *h)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (h->workers[i] >= 0)
			return true;
	return false;
}

/* It is pid 1 of a container: what workers leave is its to reap. */
static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int serve(struct hold *h)
{
	bool ends = false;

	while (h->code < 0 || has_worker(h)) {
		struct pollfd p[2 + WORKERS_MAX] = {{.fd = h->listener, .events = POLLIN},
						    {.fd = h->signals, .events = POLLIN}};
		uint64_t now = now_ms();

		if ((ends || !has_worker(h)) && now >= h->until)
			break;
		for (size_t i = 0; i < WORKERS_MAX; i++)
			p[2 + i] = (struct pollfd){.fd = h->workers[i], .events = POLLIN};
		if (poll(p, ARRAY_SIZE(p), 1000) < 0 && errno != EINTR)
			break;
		reap();
		for (size_t i = 0; i < WORKERS_MAX; i++)
			if (h->workers[i] >= 0 && p[2 + i].revents)
				take_packet(h, &h->workers[i]);
		if (p[0].revents)
			take_worker(h);
		if (p[1].revents && ev_signal_read(h->signals) > 0 && !ends) {
			ends = true;
			end_workers(h);
		}
	}
	if (h->code < 0)
		say_text("nobody came");
	return h->code < 0 ? NODE_STREAM : h->code;
}

static int open_hold(struct hold *h, struct sockaddr_un *sa, struct err *err)
{
	static const int caught[] = {SIGTERM, SIGINT, SIGHUP};
	cleanup_free char *dir = place();
	int r = path_private_dir(dir, err);

	if (r == 0)
		r = ev_signalfd(caught, ARRAY_SIZE(caught), &h->signals, err);
	if (r < 0)
		return r;
	h->listener = address(sa);
	(void)unlink(sa->sun_path);
	if (h->listener < 0 || bind(h->listener, (struct sockaddr *)sa, sizeof(*sa)) < 0 ||
	    listen(h->listener, WORKERS_MAX) < 0)
		return err_sys(err, errno, "cannot listen on '%s'", sa->sun_path);
	return 0;
}

int hold_run(struct err *err)
{
	struct hold h = {.listener = -1, .signals = -1, .code = -1, .until = now_ms() + HOLD_MS};
	cleanup_free char *dir = place();
	struct sockaddr_un sa;
	int r;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		h.workers[i] = -1;
	r = open_hold(&h, &sa, err);
	if (r == 0) {
		say_text("waits for a worker");
		r = serve(&h);
		(void)unlink(sa.sun_path);
		(void)rmdir(dir);
	}
	closep(&h.listener);
	closep(&h.signals);
	return r;
}
