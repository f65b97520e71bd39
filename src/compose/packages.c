#include "compose/packages.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/find-program.h"

#define NAMES_SHOWN 200

/* Maps a directory of the PATH inside to its path on the host. */
static char *on_host(const struct tools *t, const char *dir, const char *home, const char *own)
{
	for (size_t i = 0; i < t->n_binds; i++)
		if (path_under(dir, t->binds[i].path))
			return xstrdup(dir);
	return path_under(dir, home)
		       ? path_join(own, dir + strlen(home) + (dir[strlen(home)] == '/'))
		       : xstrdup(dir);
}

static bool is_there(const struct tools *t, const char *name, const char *home, const char *own)
{
	for (size_t i = 0; i < t->path.n; i++) {
		cleanup_free char *dir = on_host(t, t->path.v[i], home, own);
		cleanup_free char *file = path_find_program(name, dir);

		if (file)
			return true;
	}
	return false;
}

int packages_check(const struct config *c, const struct tools *tools, const char *home,
		   const char *own, struct err *err)
{
	const char *origin = NULL;
	cleanup_buf struct buf missing;

	buf_init(&missing, NAMES_SHOWN);
	for (size_t i = 0; i < c->packages.n; i++) {
		if (is_there(tools, c->packages.v[i], home, own))
			continue;
		(void)buf_printf(&missing, "%s%s", missing.len ? ", " : "", c->packages.v[i]);
		if (!origin)
			origin = config_item_origin(c, "packages", i);
	}
	if (!origin)
		return 0;
	return err_usage(err, "%s: packages: not found inside: %s; install them, or take them out",
			 origin, buf_str(&missing));
}
