#include "events/events-files.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define TRIES 100
#define CHUNK (64 * KiB)

static_assert(EVENTS_OLD_MAX == 7, "EVENTS_FILES_INIT has one place for each");

/* True when a rotation between two open() calls gave the same file twice. */
static bool has_twice(const struct events_files *f)
{
	ino_t seen[EVENTS_OLD_MAX + 1] = {0};
	struct stat st;

	for (unsigned i = 0; i <= EVENTS_OLD_MAX; i++) {
		if (f->fds[i] < 0 || fstat(f->fds[i], &st) < 0)
			continue;
		for (unsigned k = 0; k < i; k++)
			if (seen[k] == st.st_ino)
				return true;
		seen[i] = st.st_ino;
	}
	return false;
}

static int try_open(int dirfd, struct events_files *f)
{
	char name[EVENTS_NAME_SIZE];
	struct stat st, now;

	/* The newest file is opened first. A rotation meanwhile then gives a file twice instead
	 * of missing one, and changes the newest file. */
	for (unsigned i = 0; i <= EVENTS_OLD_MAX; i++) {
		f->fds[i] = openat(dirfd, events_name(i, name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (f->fds[i] < 0 && errno != ENOENT)
			return -errno;
	}
	if (fstatat(dirfd, EVENTS_FILE, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT ? -errno : f->fds[0] >= 0 ? -EAGAIN : 0;
	if (f->fds[0] < 0 || fstat(f->fds[0], &st) < 0 || st.st_ino != now.st_ino)
		return -EAGAIN;
	return has_twice(f) ? -EAGAIN : 0;
}

int events_files_open(int dirfd, struct events_files *ret, struct err *err)
{
	struct events_files f = EVENTS_FILES_INIT;
	int r = -EAGAIN;

	for (int i = 0; r == -EAGAIN && i < TRIES; i++) {
		events_files_close(&f);
		r = try_open(dirfd, &f);
	}
	if (r < 0) {
		events_files_close(&f);
		return err_sys(err, -r, "cannot read the event log");
	}
	*ret = f;
	return 0;
}

void events_files_close(struct events_files *f)
{
	for (unsigned i = 0; i <= EVENTS_OLD_MAX; i++)
		closep(&f->fds[i]);
}

struct lines {
	struct buf part; /* a line without its newline so far */
	struct events_line at;
	events_line_fn *fn;
	void *arg;
};

static int give(struct lines *l)
{
	int r;

	l->at.number++;
	l->at.n = l->part.len;
	l->at.text = buf_str(&l->part);
	l->at.cut = l->part.full;
	r = l->fn(l->arg, &l->at);
	buf_clear(&l->part);
	return r;
}

static int take(struct lines *l, const char *p, size_t n)
{
	int r = 0;

	while (n && r == 0) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n;
		size_t room = buf_room(&l->part);

		/* A longer line is kept in part, which is enough to see that it is no record. */
		if (!l->part.full && buf_append(&l->part, p, len) < 0)
			(void)buf_append(&l->part, p, room);
		if (end)
			r = give(l);
		len += end != NULL;
		p += len;
		n -= len;
	}
	return r;
}

int events_each_of(int fd, unsigned file, events_line_fn *fn, void *arg, struct err *err)
{
	struct lines l = {.at.file = file, .fn = fn, .arg = arg};
	cleanup_free char *chunk = xmalloc(CHUNK);
	off_t at = 0;
	ssize_t n = 0;
	int r = 0;

	buf_init(&l.part, EVENTS_LINE_MAX + 1);
	while (r == 0 && (n = pread(fd, chunk, CHUNK, at)) > 0) {
		at += n;
		r = take(&l, chunk, (size_t)n);
	}
	if (r == 0 && n == 0 && l.part.len) {
		l.at.torn = true;
		r = give(&l);
	}
	buf_done(&l.part);
	return n < 0 ? err_sys(err, errno, "cannot read the event log") : r;
}

int events_each(const struct events_files *f, events_line_fn *fn, void *arg, struct err *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i <= EVENTS_OLD_MAX; i++) {
		unsigned file = EVENTS_OLD_MAX - i;

		if (f->fds[file] >= 0)
			r = events_each_of(f->fds[file], file, fn, arg, err);
	}
	return r;
}

static int keep_file(int from, int to, const char *name, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	/* The last record of a file may exceed the size limit of a file. */
	buf_init(&b, EVENTS_FILE_MAX + EVENTS_LINE_MAX);
	r = path_read(from, name, &b);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = path_write_atomic(to, name, buf_str(&b), b.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot keep '%s' of the event log", name) : 0;
}

int events_keep(int from, int to, struct err *err)
{
	char name[EVENTS_NAME_SIZE];
	int r = keep_file(from, to, HEAD_FILE, err);

	for (unsigned i = 0; r == 0 && i <= EVENTS_OLD_MAX; i++)
		r = keep_file(from, to, events_name(i, name), err);
	return r;
}
