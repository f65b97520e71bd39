#include "repo/repo-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

#define LINK_MAX_LEN (4 * KiB)

/* Opens the parent directory of path, creating it if asked; symbolic links are refused. */
static int open_parent(int root, const char *path, bool make)
{
	cleanup_fd int dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (const char *slash; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		cleanup_free char *name = xstrndup(path, (size_t)(slash - path));
		int next;

		if (make && mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
			return -errno;
		if (streq(name, "..") || streq(name, "."))
			return -EINVAL;
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		(void)close(dir);
		dir = next;
	}
	return dir < 0 ? -errno : take_fd(dir);
}

static int read_link(int dir, const char *name, struct buf *b)
{
	char text[LINK_MAX_LEN];
	ssize_t n = readlinkat(dir, name, text, sizeof(text));

	return n < 0 ? -errno : buf_append(b, text, (size_t)n);
}

int repo_file_read(int root, const char *path, struct buf *b, uint32_t *ret_mode)
{
	cleanup_fd int dir = open_parent(root, path, false);
	const char *name = path_base(path);
	cleanup_fd int fd = -1;
	struct stat st;

	buf_clear(b);
	/* A parent that is a file or a link means that the path does not exist. */
	if (dir < 0)
		return dir == -ENOTDIR || dir == -ELOOP ? -ENOENT : dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		*ret_mode = 0120000;
		return read_link(dir, name, b);
	}
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_mode = st.st_mode & S_IXUSR ? 0100755 : 0100644;
	return fd_read_all(fd, b);
}

static int put_content(int dir, const char *name, const void *p, size_t n, uint32_t mode)
{
	cleanup_free char *text = mode == 0120000 ? xstrndup(p, n) : NULL;
	cleanup_fd int fd = -1;

	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	if (text)
		return symlinkat(text, dir, name) < 0 ? -errno : 0;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
	return fd < 0 ? -errno : fd_write_all(fd, p, n);
}

static int put_and_move(int dir, const char *as, int to, const char *name, const void *p, size_t n,
			uint32_t mode)
{
	int r = put_content(dir, as, p, n, mode);

	if (r == 0 && renameat(dir, as, to, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, as, 0);
	return r;
}

int repo_file_write(int root, int tmp, const char *path, const void *p, size_t n, uint32_t mode)
{
	cleanup_fd int dir = open_parent(root, path, true);
	const char *name = path_base(path);
	cleanup_free char *beside = NULL;
	int r;

	if (dir < 0)
		return dir;
	r = put_and_move(tmp, "ralph.tmp", dir, name, p, n, mode);
	if (r != -EXDEV)
		return r;
	beside = xasprintf("%s.%d.tmp", name, getpid());
	return put_and_move(dir, beside, dir, name, p, n, mode);
}

int repo_file_remove(int root, const char *path)
{
	cleanup_fd int dir = open_parent(root, path, false);
	cleanup_free char *up = NULL;

	if (dir == -ENOENT || dir == -ENOTDIR || dir == -ELOOP)
		return 0;
	if (dir < 0)
		return dir;
	if (unlinkat(dir, path_base(path), 0) < 0 && errno != ENOENT)
		return -errno;
	for (up = xstrdup(path); strchr(up, '/');) {
		cleanup_fd int parent = -1;

		*strrchr(up, '/') = '\0';
		parent = open_parent(root, up, false);
		if (parent < 0 || unlinkat(parent, path_base(up), AT_REMOVEDIR) < 0)
			break;
	}
	return 0;
}
