#include "workspace/quarantine-copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/copy.h"
#include "base/mem.h"
#include "base/path.h"

int quarantine_copy(int from, const char *name, int to, const char *to_name)
{
	static const struct copy_rules rules = {
		.bytes_max = 1024 * (uint64_t)MiB,
		.files_max = 100000,
		.depth_max = 64,
		.links = COPY_LINKS_ALL,
		.modes = true,
	};
	struct stat st;
	struct err ignored;
	int r;

	if (fstatat(to, to_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	r = copy_tree(from, name, to, to_name, &rules);
	if (r == 0)
		r = path_remove_tree(from, name, &ignored);
	if (r < 0)
		(void)path_remove_tree(to, to_name, &ignored);
	return r;
}
