#include "base/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

extern char **environ;

/* Reads until end of file or the deadline; more than b may hold is cut, not an error. */
static int drain(int fd, struct buf *b, uint64_t deadline)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = now_ms();
		char chunk[4096];
		ssize_t n;

		if (now >= deadline)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(deadline - now)) < 0 && errno != EINTR)
			return -errno;
		if (!p.revents)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		(void)buf_append(b, chunk, (size_t)n < buf_room(b) ? (size_t)n : buf_room(b));
	}
}

int run_capture(char *const argv[], char *const env[], int timeout_ms, size_t out_max,
		char **ret_out, int *ret_code, struct err *err)
{
	return run_capture_in(NULL, argv, env, timeout_ms, out_max, ret_out, ret_code, err);
}

int run_capture_in(const char *dir, char *const argv[], char *const env[], int timeout_ms,
		   size_t out_max, char **ret_out, int *ret_code, struct err *err)
{
	struct run run = RUN_INIT;

	run.argv = argv;
	run.env = env ? env : environ;
	run.dir = dir;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	return run_collect(&run, timeout_ms, out_max, ret_out, ret_code, err);
}

int run_collect(struct run *run, int timeout_ms, size_t out_max, char **ret_out, int *ret_code,
		struct err *err)
{
	cleanup_(child_done) struct child child = {.pid = -1, .pidfd = -1};
	cleanup_fd int out_r = -1, out_w = -1;
	cleanup_buf struct buf b;
	int pipefd[2], r;

	buf_init(&b, out_max);
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	out_r = pipefd[0];
	out_w = pipefd[1];
	run->stdio[1] = out_w;
	r = run_start(run, &child, err);
	if (r < 0)
		return r;
	closep(&out_w);
	r = drain(out_r, &b, now_ms() + (uint64_t)timeout_ms);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "'%s' did not end within %d s", run->argv[0],
			       timeout_ms / 1000);
	if (r < 0)
		return err_sys(err, -r, "cannot read from '%s'", run->argv[0]);
	*ret_code = run_wait(&child);
	*ret_out = buf_take(&b);
	return 0;
}
