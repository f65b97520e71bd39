#include "guest/between.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define CHUNK (64 * KiB)

/* Pipes and sockets have no more to give, and devices that may be handed in are in the sandbox. */
static bool is_file(int fd, struct stat *st)
{
	struct statfs fs;

	if (fstat(fd, st) < 0)
		return false;
	if (S_ISFIFO(st->st_mode))
		return fstatfs(fd, &fs) == 0 && fs.f_type != PIPEFS_MAGIC;
	return S_ISREG(st->st_mode) || S_ISBLK(st->st_mode);
}

static bool is_same(const struct stat *a, int fd)
{
	struct stat b;

	return fstat(fd, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Output to one file keeps its order: `2>&1` is one pipe. */
static struct between_row *find(struct between *b, const struct stat *st)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->rows[i].in && is_same(st, b->rows[i].file))
			return &b->rows[i];
	return NULL;
}

static int add(struct between *b, int fd, bool in, struct err *err)
{
	struct between_row *row = &b->rows[b->n];
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	*row = (struct between_row){.ours = ends[in], .theirs = ends[!in], .in = in};
	b->n++;
	row->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	r = row->file < 0 ? -errno : fd_set_nonblock(row->ours, true);
	return r < 0 ? err_sys(err, -r, "cannot copy a file that was handed in") : 0;
}

int between_open(struct between *b, int stdio[BETWEEN_MAX], struct err *err)
{
	for (int i = 0; i < BETWEEN_MAX; i++) {
		struct between_row *row;
		struct stat st;
		int r;

		if (!is_file(stdio[i], &st))
			continue;
		row = i ? find(b, &st) : NULL;
		if (!row) {
			r = add(b, stdio[i], i == 0, err);
			if (r < 0)
				return r;
			row = &b->rows[b->n - 1];
		}
		stdio[i] = row->theirs;
	}
	return 0;
}

void between_started(struct between *b)
{
	for (size_t i = 0; i < b->n; i++)
		closep(&b->rows[i].theirs);
}

size_t between_poll(const struct between *b, struct pollfd *p)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->rows[i].ours >= 0)
			p[n++] = (struct pollfd){.fd = b->rows[i].ours,
						 .events = b->rows[i].in ? POLLOUT : POLLIN};
	return n;
}

static void finish(struct between_row *row)
{
	closep(&row->ours);
	closep(&row->file);
	row->ours = row->file = -1;
}

/* One piece; false: nothing can be copied now, or ever again. */
static bool copy_out(struct between_row *row)
{
	static char chunk[CHUNK];
	ssize_t n = read(row->ours, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0 && fd_write_all(row->file, chunk, (size_t)n) == 0)
		return true;
	finish(row); /* a full disk ends it, as it would without us: by SIGPIPE */
	return false;
}

/* As much as the pipe takes: what is read and does not fit would be lost. */
static bool copy_in(struct between_row *row)
{
	static char chunk[PIPE_BUF];
	struct pollfd p = {.fd = row->ours, .events = POLLOUT};
	ssize_t n;

	/* A pipe that can be written to at all takes PIPE_BUF bytes at once. */
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT)) {
		if (p.revents & (POLLERR | POLLHUP))
			finish(row);
		return false;
	}
	n = read(row->file, chunk, sizeof(chunk));
	if (n > 0 && write(row->ours, chunk, (size_t)n) == n)
		return true;
	finish(row);
	return false;
}

void between_copy(struct between *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct between_row *row = &b->rows[i];
		bool more = row->ours >= 0;

		/* A pipe's worth each: the command's signals are served in between. */
		for (size_t piece = 0; more && piece < CHUNK / PIPE_BUF; piece++)
			more = row->in ? copy_in(row) : copy_out(row);
	}
}

void between_drain(struct between *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct between_row *row = &b->rows[i];

		while (row->ours >= 0 && !row->in && copy_out(row))
			;
		finish(row);
	}
}
