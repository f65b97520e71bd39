#include "cred/cred.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

int cred_open(const struct cred_host *h, const char *path)
{
	int fd;

	if (h && h->broker)
		return h->broker->open(h->broker, path);
	/* The open does not block: a pipe put in the file's place must not hold us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int cred_read_file(const struct cred_host *h, const char *path, struct buf *b, char **ret_warning,
		   struct err *err)
{
	cleanup_fd int fd = cred_open(h, path);
	struct stat st;
	int r;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return -ENOENT;
	if (fd < 0)
		return err_sys(err, -fd, "cannot read '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "'%s' is not a regular file", path);
	r = fd_read_all(fd, b);
	if (r == -ENOBUFS)
		return err_set(err, EFBIG, "'%s' is too large for a credential", path);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	if (ret_warning && (st.st_mode & (S_IRWXG | S_IRWXO)))
		*ret_warning = xasprintf("'%s' holds a credential and has mode %04o; run: chmod "
					 "600 '%s'",
					 path, (unsigned)(st.st_mode & 07777), path);
	return 0;
}

static int replace(const char *path, const char *text)
{
	cleanup_free char *real = realpath(path, NULL), *dir = real ? path_dir(real) : NULL;
	cleanup_fd int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return -errno;
	return path_write_atomic(fd, path_base(real), text, strlen(text), 0600, PATH_WRITE_SYNC);
}

int cred_save(const struct cred_host *h, const char *path, const char *text, struct err *err)
{
	int r = h->broker ? h->broker->save(h->broker, path, text) : replace(path, text);

	return r < 0 ? err_sys(err, -r, "cannot write '%s'", path) : 0;
}
