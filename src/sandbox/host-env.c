#include "sandbox/host-env.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

static bool is_writable_inside(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec_is_writable(spec->mounts[i].kind) &&
		    path_under(path, spec->mounts[i].source))
			return true;
	return false;
}

char *host_path(const struct sandbox_spec *spec, const char *path)
{
	char *kept = xstrdup("PATH=");
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, path, ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *real = NULL, *old = kept;
		struct err ignored;

		if (dirs.v[i][0] != '/' || path_real(dirs.v[i], &real, &ignored) < 0 ||
		    is_writable_inside(spec, real)) {
			old = NULL;
			continue;
		}
		kept = xasprintf("%s%s%s", old, old[strlen("PATH=")] ? ":" : "", dirs.v[i]);
	}
	return kept;
}

void host_environ(const struct sandbox_spec *spec, char *const *from, struct strv *ret)
{
	static const char path[] = "PATH=";

	for (; from && *from; from++) {
		if (strncmp(*from, path, sizeof(path) - 1) == 0)
			strv_take(ret, host_path(spec, *from + sizeof(path) - 1));
		else
			strv_push(ret, *from);
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

int host_environ_read(int fd, struct strv *ret)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, HOST_ENVIRON_MAX);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = fd_read_all(fd, &b);
	for (size_t at = 0; r == 0 && at < b.len; at += strlen(b.data + at) + 1)
		strv_push(ret, b.data + at);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return r;
}
