#include "workspace/fresh-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "workspace/tree-walk.h"

#define QUIET_MS 300 /* without a change: then a writer counts as done */

static int copy_all(int in, int out)
{
	ssize_t n;

	while ((n = sendfile(out, in, NULL, 16 * MiB)) > 0)
		;
	return n < 0 ? -errno : 0;
}

static int temporary_name(char ret[40])
{
	uint32_t id = 0;

	if (getrandom(&id, sizeof(id), 0) < 0)
		return -errno;
	(void)snprintf(ret, 40, ".ralph-fresh-%08x", id);
	return 0;
}

/* Mode, owner and times of another. As a plain user a file of somebody else becomes ours. */
static int dress(int fd, const struct stat *st)
{
	if (geteuid() == 0 && fchown(fd, st->st_uid, st->st_gid) < 0)
		return -errno;
	if (fchmod(fd, st->st_mode & 07777) < 0 ||
	    futimens(fd, (struct timespec[]){st->st_atim, st->st_mtim}) < 0)
		return -errno;
	return 0;
}

static int copy_file(int dirfd, const char *name, int in, const struct stat *st)
{
	cleanup_fd int out = -1;
	char temporary[40];
	int r = temporary_name(temporary);

	if (r < 0)
		return r;
	out = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = copy_all(in, out);
	r = r < 0 ? r : dress(out, st);
	if (r == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, temporary, 0);
	return r;
}

/* ---- one file ---- */

struct fresh {
	bool shallow;
	uint64_t end;	/* until then a writer may finish */
	uint64_t bytes; /* so far */
	size_t names;
};

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The kernel gives a read lease only on a file that nobody can write by a descriptor. */
static bool is_written(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/* Until nobody writes it: no descriptor could, or nothing has come for a while. */
static void await_writer(const struct fresh *f, int fd)
{
	struct stat before = {0}, now;
	uint64_t quiet = 0;

	while (is_written(fd) && now_ms() < f->end && fstat(fd, &now) == 0) {
		if (!same_state(&before, &now))
			quiet = now_ms() + QUIET_MS;
		else if (now_ms() >= quiet)
			return;
		before = now;
		(void)poll(NULL, 0, 2);
	}
}

static int fresh_file(struct fresh *f, int dirfd, const char *name)
{
	cleanup_fd int in = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (in < 0)
		return in;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	await_writer(f, in);
	if (fstat(in, &st) < 0)
		return -errno;
	f->bytes += (uint64_t)st.st_size;
	return f->bytes > FRESH_MAX ? -EFBIG : copy_file(dirfd, name, in, &st);
}

/* ---- a directory ---- */

static int move_names(struct fresh *f, int from, int to, unsigned depth);

static int move_dir(struct fresh *f, int from, int to, const char *name, unsigned depth)
{
	cleanup_fd int old = path_open_beneath(from, name, O_RDONLY | O_DIRECTORY, 0);
	cleanup_fd int new = -1;
	struct stat st;
	int r;

	if (old < 0 || fstat(old, &st) < 0)
		return old < 0 ? old : -errno;
	if (depth == 0)
		return -ELOOP;
	if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	new = path_open_beneath(to, name, O_RDONLY | O_DIRECTORY, 0);
	r = new < 0 ? new : move_names(f, old, new, depth - 1);
	r = r < 0 ? r : dress(new, &st);
	if (r == 0 && unlinkat(from, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

static int move_name(struct fresh *f, int from, int to, const char *name, unsigned depth)
{
	struct stat st;

	if (++f->names > FRESH_FILES_MAX)
		return -EFBIG;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) && !f->shallow)
		return move_dir(f, from, to, name, depth);
	if (renameat(from, name, to, name) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && !f->shallow ? fresh_file(f, to, name) : 0;
}

static int move_names(struct fresh *f, int from, int to, unsigned depth)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return -errno;
	}
	while (r == 0 && (de = readdir(d)))
		if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
			r = move_name(f, from, to, de->d_name, depth);
	(void)closedir(d);
	return r == -ENOENT ? 0 : r;
}

/* The new directory is in place first: what the host adds meanwhile is added to it. */
static int exchange_dir(struct fresh *f, int dirfd, const char *name, int old)
{
	cleanup_fd int new = -1;
	char temporary[40];
	struct stat st;
	int r = temporary_name(temporary);

	if (r < 0)
		return r;
	if (fstat(old, &st) < 0 || mkdirat(dirfd, temporary, 0700) < 0)
		return -errno;
	new = path_open_beneath(dirfd, temporary, O_RDONLY | O_DIRECTORY, 0);
	if (new < 0 || renameat2(dirfd, temporary, dirfd, name, RENAME_EXCHANGE) < 0) {
		r = new < 0 ? new : -errno;
		(void)unlinkat(dirfd, temporary, AT_REMOVEDIR);
		return r;
	}
	r = move_names(f, old, new, TREE_DEPTH_MAX);
	r = r < 0 ? r : dress(new, &st);
	if (unlinkat(dirfd, temporary, AT_REMOVEDIR) < 0 && r == 0)
		r = -errno;
	return r;
}

int fresh_replace(int dirfd, const char *name, bool shallow, uint64_t writer_ms)
{
	cleanup_fd int dir = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	struct fresh f = {.shallow = shallow, .end = now_ms() + writer_ms};

	if (dir == -ENOTDIR)
		return fresh_file(&f, dirfd, name);
	if (dir < 0)
		return dir;
	await_writer(&f, dir);
	return exchange_dir(&f, dirfd, name, dir);
}

/* ---- other names ---- */

static int unshare_one(int dirfd, const char *name)
{
	struct fresh f = {0};
	struct stat st;
	int r;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink < 2)
		return 0;
	r = fresh_file(&f, dirfd, name);
	return r < 0 ? r : 1;
}

struct unshare {
	int n, error;
};

static void count(struct unshare *u, int r)
{
	if (r < 0)
		u->error = r;
	else
		u->n += r;
}

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	if (type != DT_DIR)
		count(arg, unshare_one(d->fd, name));
	return true;
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	count(arg, -error);
}

int fresh_unshare(int dirfd, const char *name)
{
	static const struct tree_ops ops = {on_name, NULL, on_refused};
	int fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	struct unshare u = {0};

	if (fd == -ENOTDIR)
		return unshare_one(dirfd, name);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	(void)tree_walk(fd, name, &ops, &u);
	return u.error < 0 ? u.error : u.n;
}
