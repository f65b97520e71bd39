#include "guest/box.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/fd.h"

int box_meet(const char *path, int as)
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

static int write_file(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Root of the new namespace is who we were outside of it. */
static int write_maps(unsigned uid, unsigned gid)
{
	char line[32];
	int r = write_file("/proc/self/setgroups", "deny");

	(void)snprintf(line, sizeof(line), "0 %u 1\n", uid);
	if (r == 0)
		r = write_file("/proc/self/uid_map", line);
	(void)snprintf(line, sizeof(line), "0 %u 1\n", gid);
	return r < 0 ? r : write_file("/proc/self/gid_map", line);
}

int box_enter(struct err *err)
{
	unsigned uid = geteuid(), gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno,
			       "this machine lets nobody make a user namespace in a container");
	/* /proc/self is ours only while we are dumpable; nothing else runs here yet. */
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	r = write_maps(uid, gid);
	if (r < 0)
		return err_sys(err, -r, "cannot set up the user namespace of the container");
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return err_sys(err, errno, "cannot make the sandbox's own namespaces");
	return 0;
}
