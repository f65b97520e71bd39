#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/strv.h"

int path_make_parents(int root, const char *rel, mode_t mode)
{
	cleanup_strv struct strv parts = {0};
	cleanup_fd int dir = path_open_beneath(root, ".", O_RDONLY | O_DIRECTORY, 0);

	strv_split(&parts, rel, '/');
	for (size_t i = 0; dir >= 0 && i + 1 < parts.n; i++) {
		int sub;

		if (mkdirat(dir, parts.v[i], mode) < 0 && errno != EEXIST)
			return -errno;
		sub = path_open_beneath(dir, parts.v[i], O_RDONLY | O_DIRECTORY, 0);
		closep(&dir);
		dir = sub;
	}
	return take_fd(dir);
}

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

struct glob {
	int root;
	size_t max;
	struct strv *ret;
};

static void walk(const struct glob *g, const char *dir, const char *pattern);

static void matches(const struct glob *g, const char *dir, const char *first, const char *rest)
{
	int fd = path_open_beneath(g->root, *dir ? dir : ".", O_RDONLY | O_DIRECTORY, 0);
	cleanup_(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d)
		closep(&fd);
	while (d && g->ret->n < g->max && (e = readdir(d))) {
		cleanup_free char *path = NULL;

		if (fnmatch(first, e->d_name, FNM_PERIOD) != 0)
			continue;
		path = *dir ? path_join(dir, e->d_name) : xstrdup(e->d_name);
		if (*rest)
			walk(g, path, rest);
		else
			strv_push(g->ret, path);
	}
}

/* Walks one component of the pattern at a time; a component without '*' needs no readdir(). */
static void walk(const struct glob *g, const char *dir, const char *pattern)
{
	size_t n = strcspn(pattern, "/");
	cleanup_free char *first = xstrndup(pattern, n);
	const char *rest = pattern + n + (pattern[n] == '/');

	if (strchr(first, '*') || !*rest) {
		matches(g, dir, first, rest);
	} else {
		cleanup_free char *path = *dir ? path_join(dir, first) : xstrdup(first);

		walk(g, path, rest);
	}
}

void path_glob_beneath(int root, const char *dir, const char *pattern, size_t max, struct strv *ret)
{
	walk(&(struct glob){root, max, ret}, dir, pattern);
	strv_sort(ret);
}
