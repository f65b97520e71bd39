#include "sandbox/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define BACKLOG 128

/*
 * Through a descriptor of the directory, since the path itself may be longer than the 107 bytes
 * that fit into a socket address.
 */
static void address_in(int dir, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/ctl", dir);
}

/* Under /tmp anybody may have made that directory first, with a socket of his own in it that waits
 * for our commands and their descriptors. */
static int open_dir(const struct places *p, const char *name)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	cleanup_fd int dir = open(p->runtime, flags);
	struct stat st;
	int fd;

	if (dir < 0 || fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	fd = openat(dir, name, flags);
	return fd < 0 ? -errno : fd;
}

static int make_dir(const struct places *p, const char *name, struct err *err)
{
	cleanup_free char *path = path_join(p->runtime, name), *parent = path_dir(p->runtime);
	int r = path_mkdirs(parent, 0700, err);

	if (r == 0)
		r = path_private_dir(p->runtime, err);
	return r < 0 ? r : path_private_dir(path, err);
}

int runtime_listen(const struct places *p, const char *name, int *ret, struct err *err)
{
	cleanup_fd int dir = -1, fd = -1;
	struct sockaddr_un sa;
	int r = make_dir(p, name, err);

	if (r < 0)
		return r;
	dir = open_dir(p, name);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open '%s/%s'", p->runtime, name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "cannot create a socket");
	address_in(dir, &sa);
	/* A socket that is there was left by a crash: the live lock says that nobody listens. */
	(void)unlinkat(dir, "ctl", 0);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, errno, "cannot listen on '%s/%s/ctl'", p->runtime, name);
	*ret = take_fd(fd);
	return 0;
}

int runtime_connect(const struct places *p, const char *name, int *ret)
{
	cleanup_fd int dir = open_dir(p, name), fd = -1;
	struct sockaddr_un sa;

	if (dir < 0)
		return dir;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	address_in(dir, &sa);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	*ret = take_fd(fd);
	return 0;
}

void runtime_remove(const struct places *p, const char *name)
{
	cleanup_free char *path = path_join(p->runtime, name);
	cleanup_fd int dir = open_dir(p, name);

	if (dir < 0)
		return;
	(void)unlinkat(dir, "ctl", 0);
	(void)rmdir(path);
}
