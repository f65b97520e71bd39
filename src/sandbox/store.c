#include "sandbox/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/name.h"

#define SPEC_FILE_MAX (4 * MiB)

static char *store_dir(const struct places *p)
{
	return path_join(p->state, "sandboxes");
}

static char *entry_dir(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s", p->state, name);
}

char *store_home(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s/home", p->state, name);
}

char *store_owner(const struct places *p, const char *name)
{
	cleanup_free char *file = xasprintf("%s/sandboxes/%s/workspace", p->state, name);
	cleanup_buf struct buf b;

	buf_init(&b, PATH_MAX);
	return path_read(AT_FDCWD, file, &b) < 0 || b.len == 0 ? NULL : buf_take(&b);
}

static int create_entry(const struct places *p, const char *dir, struct err *err)
{
	cleanup_free char *parent = store_dir(p), *home = path_join(dir, "home");
	int r = path_mkdirs(parent, 0700, err);

	if (r == 0)
		r = path_mkdirs(dir, 0700, err);
	return r < 0 ? r : path_mkdirs(home, 0700, err);
}

int store_open(const struct places *p, const char *name, bool create, struct store_entry *ret,
	       struct err *err)
{
	cleanup_free char *dir = entry_dir(p, name);
	int r;

	if (!name_valid(name))
		return err_usage(err, "'%s' is no sandbox name; see: ralph ls", name);
	if (create) {
		r = create_entry(p, dir, err);
		if (r < 0)
			return r;
	}
	*ret = (struct store_entry)STORE_ENTRY_INIT;
	ret->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (ret->dir < 0 && errno == ENOENT)
		return err_set(err, ENOENT, "there is no sandbox '%s'; see: ralph ls", name);
	if (ret->dir < 0)
		return err_sys(err, errno, "cannot open '%s'", dir);
	ret->name = xstrdup(name);
	return 0;
}

void store_close(struct store_entry *e)
{
	closep(&e->lock);
	closep(&e->live);
	closep(&e->dir);
	free(e->name);
	e->name = NULL;
}

static bool still_there(const struct places *p, const struct store_entry *e)
{
	cleanup_free char *dir = entry_dir(p, e->name);
	struct stat a, b;

	return fstat(e->dir, &a) == 0 && lstat(dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int take_lock(const struct places *p, const struct store_entry *e, const char *file,
		     int timeout_ms, int *ret, struct err *err)
{
	cleanup_fd int fd = openat(e->dir, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0 && errno == ENOENT) /* its directory was removed */
		return err_set(err, ESTALE, "sandbox '%s' was removed meanwhile", e->name);
	if (fd < 0)
		return err_sys(err, errno, "cannot open the lock of sandbox '%s'", e->name);
	r = fd_lock(fd, timeout_ms);
	if (r == -ETIMEDOUT || r == -EWOULDBLOCK)
		return err_set(err, -r,
			       "sandbox '%s' is being started or removed by another command",
			       e->name);
	if (r < 0)
		return err_sys(err, -r, "cannot lock sandbox '%s'", e->name);
	if (!still_there(p, e))
		return err_set(err, ESTALE, "sandbox '%s' was removed meanwhile", e->name);
	*ret = take_fd(fd);
	return 0;
}

int store_lock(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err)
{
	return take_lock(p, e, "lock", timeout_ms, &e->lock, err);
}

int store_lock_live(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err)
{
	return take_lock(p, e, "live", timeout_ms, &e->live, err);
}

int store_write_spec(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err)
{
	cleanup_json json_t *j = spec_to_json(spec);
	cleanup_free char *text = json_dumps(j, JSON_INDENT(2));
	int r;

	if (!text)
		return err_set(err, EINVAL, "the spec of '%s' cannot be written as JSON", e->name);
	r = path_write_atomic(e->dir, "spec.json", text, strlen(text), 0600, 0);
	if (r == 0)
		r = path_write_atomic(e->dir, "workspace", spec->workspace, strlen(spec->workspace),
				      0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write the spec of sandbox '%s'", e->name) : 0;
}

int store_read_spec(const struct store_entry *e, struct sandbox_spec **ret, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SPEC_FILE_MAX);
	r = path_read(e->dir, "spec.json", &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read the spec of sandbox '%s'", e->name);
	r = json_parse(b.data ? b.data : "", b.len, &j, err);
	if (r == 0)
		r = spec_from_json(j, ret, err);
	return r < 0 ? err_wrap(err, r, "the record of sandbox '%s' is damaged (ralph rm %s)",
				e->name, e->name)
		     : 0;
}

int store_remove(const struct places *p, const char *name, struct err *err)
{
	cleanup_free char *dir = store_dir(p), *doomed = NULL;
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot open '%s'", dir);
	/* Out of sight first: a name that is seen is whole, and can be taken again at once. */
	doomed = xasprintf(".%s.%d", name, getpid());
	if (renameat(fd, name, fd, doomed) < 0)
		return errno == ENOENT ? 0
				       : err_sys(err, errno, "cannot remove sandbox '%s'", name);
	return path_remove_tree(fd, doomed, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int store_list(const struct places *p, struct strv *out, struct err *err)
{
	cleanup_free char *path = store_dir(p);
	DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot open '%s'", path);
	while ((de = readdir(dir)))
		if (name_valid(de->d_name))
			strv_push(out, de->d_name);
	(void)closedir(dir);
	if (out->n)
		qsort(out->v, out->n, sizeof(char *), by_name);
	return 0;
}
