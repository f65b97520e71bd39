#include "record/connect.h"

#include <sys/stat.h>

#include "record/name.h"
#include "record/runtime.h"

static int find(const struct places *p, const char *name, runtime_connect_fn *reach, int *ret,
		struct err *err)
{
	cleanup_free char *dir = xasprintf("%s/sandboxes/%s", p->state, name);
	struct stat st;
	int r;

	if (!name_valid(name))
		return err_usage(err, "'%s' is no sandbox name; see: ralph ls", name);
	r = reach(p, name, ret, err);
	if (r < 0 || *ret >= 0)
		return r;
	if (stat(dir, &st) < 0)
		return err_set(err, ENOENT, "there is no sandbox '%s'; see: ralph ls", name);
	return 0;
}

int live_connect(const struct places *p, const char *name, int *ret, struct err *err)
{
	return find(p, name, runtime_join, ret, err);
}

int live_connect_any(const struct places *p, const char *name, int *ret, struct err *err)
{
	return find(p, name, runtime_connect, ret, err);
}
