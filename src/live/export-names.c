#include "live/export-names.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/path.h"

#define FILE_NAME "export-names"

char *export_names_read(const char *record)
{
	cleanup_free char *path = path_join(record, FILE_NAME);
	struct buf b;

	buf_init(&b, EXPORT_NAMES_BYTES);
	if (path_read(AT_FDCWD, path, &b) < 0)
		buf_clear(&b);
	return buf_take(&b);
}

static size_t count_lines(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

int export_names_add(const char *record, const char *name)
{
	cleanup_free char *path = path_join(record, FILE_NAME), *text = export_names_read(record);
	cleanup_free char *all = NULL;
	const char *keep = text;
	struct timespec now;

	/* Files get their times from this clock, which is a few milliseconds behind the other. */
	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
		return -errno;
	for (size_t n = count_lines(text); n >= EXPORT_NAMES_MAX; n--)
		keep = strchr(keep, '\n') + 1;
	all = xasprintf("%s%lld%09ld %s\n", keep, (long long)now.tv_sec, now.tv_nsec, name);
	return path_write_atomic(AT_FDCWD, path, all, strlen(all), 0600, 0);
}
