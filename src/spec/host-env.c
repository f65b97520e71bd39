#include "spec/host-env.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

static bool is_below_one(const char *const *dirs, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (path_under(path, dirs[i]))
			return true;
	return false;
}

char *host_path_outside(const char *const *dirs, size_t n, const char *path)
{
	cleanup_strv struct strv all = {0};
	char *kept = xstrdup("");

	strv_split(&all, path, ':');
	for (size_t i = 0; i < all.n; i++) {
		cleanup_free char *real = NULL, *old = kept;
		struct err ignored;

		if (all.v[i][0] != '/' || path_real(all.v[i], &real, &ignored) < 0 ||
		    is_below_one(dirs, n, real)) {
			old = NULL;
			continue;
		}
		kept = xasprintf("%s%s%s", old, old[0] ? ":" : "", all.v[i]);
	}
	return kept;
}

char *host_path(const struct sandbox_spec *spec, const char *path)
{
	const char **dirs = xcalloc(spec->n_mounts + 1, sizeof(*dirs));
	size_t n = 0;
	char *kept;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec_is_writable(spec->mounts[i].kind))
			dirs[n++] = spec->mounts[i].source;
	kept = host_path_outside(dirs, n, path);
	free(dirs);
	return kept;
}

void host_environ(const struct sandbox_spec *spec, char *const *from, struct strv *ret)
{
	static const char path[] = "PATH=";

	for (; from && *from; from++) {
		cleanup_free char *kept = NULL;

		if (strncmp(*from, path, sizeof(path) - 1) != 0) {
			strv_push(ret, *from);
			continue;
		}
		kept = host_path(spec, *from + sizeof(path) - 1);
		strv_pushf(ret, "PATH=%s", kept);
	}
}

int host_environ_memfd(const struct sandbox_spec *spec, char *const *from)
{
	cleanup_strv struct strv env;
	cleanup_buf struct buf b;
	int fd;

	strv_init(&env);
	buf_init(&b, HOST_ENVIRON_MAX);
	host_environ(spec, from, &env);
	for (size_t i = 0; i < env.n; i++)
		(void)buf_append(&b, env.v[i], strlen(env.v[i]) + 1);
	fd = b.full ? -E2BIG : fd_memfd("ralph-environ", b.data ? b.data : "", b.len);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return fd;
}
