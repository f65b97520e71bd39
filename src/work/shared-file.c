#include "work/shared-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

/* The file type is checked before the open: opening a pipe blocks, and opening a device can have
 * side effects. */
static int open_plain(int root, const char *path, struct stat *ret)
{
	cleanup_fd int fd = path_open_beneath(root, path, O_PATH | O_NOFOLLOW, 0);
	char self[32];
	int real;

	if (fd < 0)
		return fd;
	if (fstat(fd, ret) < 0)
		return -errno;
	if (!S_ISREG(ret->st_mode))
		return -EISDIR;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	real = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return real < 0 ? -errno : real;
}

enum shared_file_state shared_file_read(int root, const char *path, struct buf *ret)
{
	struct stat st = {0};
	cleanup_fd int fd = open_plain(root, path, &st);
	int r;

	if (fd == -ENOENT)
		return SHARED_FILE_GONE;
	if (fd == -EACCES || fd == -EPERM)
		return SHARED_FILE_CLOSED;
	if (fd < 0)
		return SHARED_FILE_ODD;
	if ((uint64_t)st.st_size > buf_room(ret))
		return SHARED_FILE_HUGE;
	r = fd_read_all(fd, ret);
	if (r == 0)
		return SHARED_FILE_READ;
	return r == -ENOBUFS ? SHARED_FILE_HUGE : SHARED_FILE_CLOSED;
}

const char *shared_file_what(enum shared_file_state s)
{
	static const char *const what[] = {
		[SHARED_FILE_READ] = "is there",
		[SHARED_FILE_GONE] = "was removed",
		[SHARED_FILE_ODD] = "was replaced by something that is no plain file",
		[SHARED_FILE_HUGE] = "has become far too large",
		[SHARED_FILE_CLOSED] = "could not be read",
	};

	return what[s];
}

mode_t shared_file_mode(int root, const char *path, mode_t otherwise)
{
	cleanup_fd int fd = path_open_beneath(root, path, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return otherwise;
	return (st.st_mode & 0777) | 0600;
}

/* Opens or creates one directory below dirfd; anything else with that name is removed. */
static int enter(int dirfd, const char *name, struct err *err)
{
	int fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);

	if (fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV) {
		int r = path_remove_tree(dirfd, name, err);

		if (r < 0)
			return r;
		fd = -ENOENT;
	}
	if (fd == -EACCES && path_open_up(dirfd, name) == 0)
		fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd == -ENOENT) {
		if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
			return err_sys(err, errno, "cannot make the directory '%s'", name);
		fd = path_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	}
	return fd < 0 ? err_sys(err, -fd, "cannot open the directory '%s'", name) : fd;
}

/* Opens the directory that contains the path; *ret_name is the last component. */
static int enter_all(int root, const char *path, const char **ret_name, struct err *err)
{
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);

	if (dir < 0)
		return err_sys(err, errno, "cannot hold on to a directory");
	for (;;) {
		const char *slash = strchr(path, '/');
		cleanup_free char *name = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
		int next;

		if (!slash)
			break;
		next = enter(dir, name, err);
		(void)close(dir);
		if (next < 0)
			return next;
		dir = next;
		path = slash + 1;
	}
	*ret_name = path;
	return dir;
}

static bool holds(int dir, const char *name, const void *p, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, n);
	return shared_file_read(dir, name, &b) == SHARED_FILE_READ && b.len == n &&
	       (n == 0 || memcmp(b.data, p, n) == 0);
}

int shared_file_put(int root, const char *path, const void *p, size_t n, mode_t mode,
		    struct err *err)
{
	const char *name = NULL;
	cleanup_fd int dir = enter_all(root, path, &name, err);
	struct stat st;
	int r = 0;

	if (dir < 0)
		return err_wrap(err, dir, "%s", path);
	if (holds(dir, name, p, n))
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		r = path_remove_tree(dir, name, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	r = path_write_atomic(dir, name, p, n, mode, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", path) : 0;
}
