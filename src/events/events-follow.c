#include "events/events-follow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define CHUNK (64 * KiB)

void events_follow_init(struct events_follow *f, int dirfd, events_line_fn *fn, void *arg)
{
	*f = (struct events_follow){.dir = dirfd, .fd = -1, .fn = fn, .arg = arg};
	buf_init(&f->part, EVENTS_LINE_MAX);
}

void events_follow_done(struct events_follow *f)
{
	closep(&f->fd);
	buf_done(&f->part);
}

static int give(struct events_follow *f)
{
	const struct events_line l = {.text = buf_str(&f->part), .n = f->part.len};
	int r = f->part.full ? 0 : f->fn(f->arg, &l);

	buf_clear(&f->part);
	return r;
}

static int take(struct events_follow *f, const char *p, size_t n)
{
	int r = 0;

	while (n && r == 0) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n;

		if (!f->part.full)
			(void)buf_append(&f->part, p, len);
		if (end)
			r = give(f);
		len += end != NULL;
		p += len;
		n -= len;
	}
	return r;
}

static int read_open(struct events_follow *f, struct err *err)
{
	char chunk[CHUNK];
	ssize_t n = 0;
	int r = 0;

	while (f->fd >= 0 && r == 0 && (n = pread(f->fd, chunk, CHUNK, f->at)) > 0) {
		f->at += n;
		r = take(f, chunk, (size_t)n);
	}
	return n < 0 ? err_sys(err, errno, "cannot read the event log") : r;
}

/* Reads a file from its beginning, and takes ownership of it. */
static int read_next(struct events_follow *f, int *fd, struct err *err)
{
	closep(&f->fd);
	f->fd = take_fd(*fd);
	f->at = 0;
	buf_clear(&f->part);
	return read_open(f, err);
}

/* True when the newest file was replaced or truncated. */
static bool has_turned(const struct events_follow *f)
{
	struct stat now, open_one;

	if (fstatat(f->dir, EVENTS_FILE, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return f->fd < 0 || fstat(f->fd, &open_one) < 0 || open_one.st_ino != now.st_ino ||
	       open_one.st_dev != now.st_dev || now.st_size < f->at;
}

/* Returns the index of the file that was read last; one past the oldest if it is gone. */
static unsigned place_of(const struct events_follow *f, const struct events_files *files)
{
	struct stat own, st;

	if (f->fd < 0 || fstat(f->fd, &own) < 0)
		return EVENTS_OLD_MAX + 1;
	for (unsigned i = 0; i <= EVENTS_OLD_MAX; i++)
		if (files->fds[i] >= 0 && fstat(files->fds[i], &st) == 0 &&
		    st.st_ino == own.st_ino && st.st_dev == own.st_dev)
			return i;
	return EVENTS_OLD_MAX + 1;
}

static int read_newer(struct events_follow *f, struct err *err)
{
	struct events_files files = EVENTS_FILES_INIT;
	int r = events_files_open(f->dir, &files, err);
	unsigned from;

	if (r < 0)
		return r;
	from = place_of(f, &files);
	if (from == 0)
		from = 1; /* truncated: read it again */
	if (!f->begun && f->newest)
		from = 1;
	f->begun = true;
	while (r == 0 && from-- > 0)
		if (files.fds[from] >= 0)
			r = read_next(f, &files.fds[from], err);
	events_files_close(&files);
	return r;
}

int events_follow_more(struct events_follow *f, struct err *err)
{
	int r = read_open(f, err);

	/* The rest of the old file is read first: it was written before the new file began. */
	if (r == 0 && has_turned(f)) {
		r = read_open(f, err);
		if (r == 0)
			r = read_newer(f, err);
	}
	return r;
}
