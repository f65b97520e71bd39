#include "guest/userns.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/fd.h"

static int write_file(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int write_map(const char *path, unsigned inside, unsigned outside)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	return write_file(path, line);
}

int userns_set(const struct userns_map *m)
{
	int r;

	/* /proc/self is ours only while we are dumpable; nothing else runs here yet. */
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	r = write_file("/proc/self/setgroups", "deny");
	if (r == -ENOENT) /* gVisor has no such file, and lets nobody have groups here */
		r = 0;
	if (r == 0)
		r = write_map("/proc/self/uid_map", m->uid, m->outer_uid);
	if (r == 0)
		r = write_map("/proc/self/gid_map", m->gid, m->outer_gid);
	(void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	return r;
}
