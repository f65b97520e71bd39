#include "repo/take.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/strv.h"

/* The tree that a git directory is of, or that the one around its submodule is of. */
static char *tree_of(const char *common)
{
	const char *at = strstr(common, "/.git");

	return at ? xstrndup(common, (size_t)(at - common)) : xstrdup(common);
}

/* A sandbox may have written the programs in its tree, and a PATH often begins there. */
static bool is_of_tree(const char *dir, const char *root, const char *tree)
{
	cleanup_free char *real = realpath(dir, NULL);

	return !real || path_under(real, root) || path_under(real, tree);
}

char *host_git_find(const char *root, const char *common)
{
	cleanup_strv struct strv dirs = {0};
	cleanup_free char *tree = tree_of(common);

	strv_split(&dirs, getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin", ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *path = path_join(dirs.v[i], "git"), *real = NULL;

		if (dirs.v[i][0] != '/' || is_of_tree(dirs.v[i], root, tree) ||
		    faccessat(AT_FDCWD, path, X_OK, 0) < 0)
			continue;
		/* A link elsewhere may lead back into the tree. */
		real = realpath(path, NULL);
		if (real && !path_under(real, root) && !path_under(real, tree))
			return take_ptr(real);
	}
	return NULL;
}
