#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

char *path_join(const char *a, const char *b)
{
	if (b[0] == '/')
		return xstrdup(b);
	return xasprintf("%s%s%s", a, a[0] && a[strlen(a) - 1] == '/' ? "" : "/", b);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

int path_real(const char *path, char **ret, struct err *err)
{
	char *real = realpath(path, NULL);

	if (!real)
		return err_sys(err, errno, "cannot resolve '%s'", path);
	*ret = real;
	return 0;
}

int path_write_atomic(int dirfd, const char *name, const void *p, size_t n, mode_t mode,
		      enum path_write_flags flags)
{
	cleanup_free char *tmp = NULL;
	cleanup_fd int fd = -1;
	uint32_t id = 0;
	int r;

	/*
	 * A hostile process may write to this directory: at a name that it can guess it could put a
	 * pipe.
	 */
	if (getrandom(&id, sizeof(id), 0) < 0)
		return -errno;
	tmp = xasprintf("%s.%d-%08x.tmp", name, getpid(), id);
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, p, n);
	if (r == 0 && (flags & PATH_WRITE_SYNC) && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, tmp, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, tmp, 0);
	return r;
}
