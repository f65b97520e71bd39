#include "guest/container-entry.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/fd.h"
#include "guest/userns.h"

int container_meet(const char *path, int as)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd, r;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	(void)stpcpy(sa.sun_path, path);
	if (syscall(SYS_close_range, as, UINT_MAX, 0U) < 0)
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	if (fd == as)
		return 0;
	r = dup3(fd, as, O_CLOEXEC) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

int container_enter(struct err *err)
{
	/* Root of the new namespace is who we were outside of it. */
	const struct userns_map map = {.outer_uid = geteuid(), .outer_gid = getegid()};
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno,
			       "this machine lets nobody make a user namespace in a container");
	r = userns_set(&map);
	if (r < 0)
		return err_sys(err, -r, "cannot set up the user namespace of the container");
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return err_sys(err, errno, "cannot make the sandbox's own namespaces");
	return 0;
}
