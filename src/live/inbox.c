#include "live/inbox.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

/* The tree of the host that holds path and is writable inside; NULL: none. */
static const char *writable_tree(const struct sandbox_spec *spec, const char *path)
{
	if (!spec)
		return NULL;
	if (spec->workspace && path_under(path, spec->workspace))
		return spec->workspace;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec_is_writable(spec->mounts[i].kind) && spec->mounts[i].source &&
		    path_under(path, spec->mounts[i].source))
			return spec->mounts[i].source;
	return NULL;
}

static int open_below(const char *tree, const char *path)
{
	cleanup_fd int root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *rel = path + strlen(tree);
	cleanup_free char *inside = xasprintf("%s/.", rel + strspn(rel, "/"));

	return root < 0 ? -errno : path_make_parents(root, inside, 0700);
}

int inbox_open(const struct sandbox_spec *spec, const char *path, struct err *err)
{
	const char *tree = writable_tree(spec, path);
	int fd = -1, r = tree ? 0 : path_mkdirs(path, 0700, err);

	if (r < 0)
		return r;
	fd = tree ? open_below(tree, path) : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!tree && fd < 0)
		fd = -errno;
	return fd < 0 ? err_sys(err, -fd, "cannot open the inbox '%s'", path) : fd;
}
