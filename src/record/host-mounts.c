#include "record/host-mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/path.h"

#define MOUNTINFO_MAX (16 * MiB)
#define BELOW_MAX 4096 /* per bind */

/* Returns the fifth field of a mountinfo line: the mount point. */
static char *mount_point(const char *line)
{
	char *word;

	for (int i = 0; i < 4; i++) {
		line += strcspn(line, " ");
		line += *line == ' ';
	}
	word = xstrndup(line, strcspn(line, " \n"));
	parse_table_word(word);
	return word;
}

int host_mounts_below(const char *dir, struct strv *ret, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, MOUNTINFO_MAX);
	r = path_read(AT_FDCWD, "/proc/self/mountinfo", &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read /proc/self/mountinfo");
	for (const char *line = buf_str(&b); *line;) {
		cleanup_free char *at = mount_point(line);

		if (path_under(at, dir) && !streq(at, dir) && !strv_has(ret, at))
			strv_push(ret, at);
		if (ret->n > BELOW_MAX)
			return err_set(err, E2BIG, "more than %d mounts lie below '%s'", BELOW_MAX,
				       dir);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return 0;
}
