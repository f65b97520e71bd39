#include "live/export-names.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

char *export_names_path(const char *record)
{
	return path_join(record, "export-names");
}

int export_names_add(const char *record, const char *name)
{
	cleanup_free char *path = export_names_path(record), *line = NULL;
	cleanup_fd int fd = -1;
	struct timespec now;

	/* Files get their times from this clock, which is a few milliseconds behind the other. */
	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
		return -errno;
	line = xasprintf("%lld%09ld %s\n", (long long)now.tv_sec, now.tv_nsec, name);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd_write_all(fd, line, strlen(line));
}
