#include "sandbox/search-path.h"

#include <string.h>

#include "base/path.h"
#include "base/strv.h"

static bool is_writable_inside(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_BIND_RW &&
		    path_under(path, spec->mounts[i].source))
			return true;
	return false;
}

char *search_path(const struct sandbox_spec *spec, const char *path)
{
	cleanup_strv struct strv dirs = {0};
	char *kept = xstrdup("");

	strv_split(&dirs, path, ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *real = NULL, *old = kept;
		struct err ignored;

		if (dirs.v[i][0] != '/' || path_real(dirs.v[i], &real, &ignored) < 0 ||
		    is_writable_inside(spec, real)) {
			old = NULL;
			continue;
		}
		kept = xasprintf("%s%s%s", old, *old ? ":" : "", dirs.v[i]);
	}
	return kept;
}
