#include "workspace/fresh-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "workspace/tree-walk.h"

static int copy_all(int in, int out)
{
	ssize_t n;

	while ((n = sendfile(out, in, NULL, 16 * MiB)) > 0)
		;
	return n < 0 ? -errno : 0;
}

int fresh_copy(int dirfd, const char *name)
{
	cleanup_fd int in = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_fd int out = -1;
	char temporary[40];
	uint32_t id = 0;
	struct stat st;
	int r;

	if (in < 0)
		return in;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	if (getrandom(&id, sizeof(id), 0) < 0)
		return -errno;
	(void)snprintf(temporary, sizeof(temporary), ".ralph-fresh-%08x", id);
	out = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = copy_all(in, out);
	if (r == 0 && (fchmod(out, st.st_mode & 07777) < 0 ||
		       futimens(out, (struct timespec[]){st.st_atim, st.st_mtim}) < 0 ||
		       renameat(dirfd, temporary, dirfd, name) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, temporary, 0);
	return r;
}

bool fresh_is_written(int dirfd, const char *name)
{
	cleanup_fd int fd = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	/* The kernel gives a read lease only on a file that nobody can write by a descriptor. */
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

static int unshare_one(int dirfd, const char *name)
{
	struct stat st;
	int r;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink < 2)
		return 0;
	r = fresh_copy(dirfd, name);
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
