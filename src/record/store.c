#include "record/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "record/name.h"

#define SPEC_FILE_MAX (4 * MiB)
#define DESTROY_TRIES 20

static char *store_dir(const struct places *p)
{
	return path_join(p->state, "sandboxes");
}

static char *entry_dir(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s", p->state, name);
}

char *store_clone(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s/clone", p->state, name);
}

char *store_git(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s/git", p->state, name);
}

char *store_checks_git(const struct places *p, const char *name)
{
	return xasprintf("%s/sandboxes/%s/checks-git", p->state, name);
}

char *store_record(const struct places *p, const char *name)
{
	return entry_dir(p, name);
}

char *store_owner(const struct places *p, const char *name)
{
	cleanup_free char *link = xasprintf("%s/sandboxes/%s/workspace", p->state, name);
	char text[PATH_MAX];
	ssize_t n = readlink(link, text, sizeof(text));

	return n <= 0 || n == sizeof(text) ? NULL : xstrndup(text, (size_t)n);
}

static int create_entry(const struct places *p, const char *dir, struct err *err)
{
	cleanup_free char *parent = store_dir(p);
	int r = path_mkdirs(parent, 0700, err);

	return r < 0 ? r : path_mkdirs(dir, 0700, err);
}

int store_open(const struct places *p, const char *name, bool create, struct store_entry *ret,
	       struct err *err)
{
	cleanup_free char *dir = entry_dir(p, name);
	int r;

	if (!name_valid(name))
		return err_usage(err, "'%s' is no sandbox name; see: ralph ls", name);
	*ret = (struct store_entry)STORE_ENTRY_INIT;
	r = create ? create_entry(p, dir, err) : 0;
	if (r < 0 && r != -ENOENT)
		return r;
	ret->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (create && (r < 0 || (ret->dir < 0 && errno == ENOENT))) {
		closep(&ret->dir);
		return err_set(err, ESTALE, "sandbox '%s' was removed meanwhile", name);
	}
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

static int take_lock(const struct places *p, const struct store_entry *e, int fd_, int timeout_ms,
		     int *ret, struct err *err)
{
	cleanup_fd int fd = fd_;
	int r;

	if (fd < 0 && errno == ENOENT) /* the directory was removed */
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
	/* The directory is opened again: the lock belongs to the open file, and e->dir may be
	 * passed on. */
	int fd = openat(e->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return take_lock(p, e, fd, timeout_ms, &e->lock, err);
}

int store_lock_live(const struct places *p, struct store_entry *e, int timeout_ms, struct err *err)
{
	int fd = openat(e->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return take_lock(p, e, fd, timeout_ms, &e->live, err);
}

void store_mark(const struct store_entry *e, bool running)
{
	(void)fchmod(e->live, running ? 0700 : 0600);
}

bool store_was_killed(const struct store_entry *e)
{
	struct stat st;

	return fstat(e->live, &st) == 0 && (st.st_mode & 0100);
}

#define STORE_PLACED "placed"

int store_mark_placed(const struct store_entry *e, struct err *err)
{
	cleanup_fd int fd =
		openat(e->dir, STORE_PLACED, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(err, errno, "cannot write the record of sandbox '%s'", e->name) : 0;
}

bool store_is_placed(const struct store_entry *e)
{
	return faccessat(e->dir, STORE_PLACED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int store_write_owner(const struct store_entry *e, const char *workspace, struct err *err)
{
	if (symlinkat(workspace, e->dir, "workspace") == 0 || errno == EEXIST)
		return 0;
	return err_sys(err, errno, "cannot write the record of sandbox '%s'", e->name);
}

#define STORE_SPEC "spec.json"
#define STORE_AGREED "agreed.json"

int store_write_spec_text(const struct store_entry *e, const char *text, size_t len)
{
	return path_write_atomic(e->dir, STORE_SPEC, text, len, 0600, 0);
}

static int write_spec(const struct store_entry *e, const char *file,
		      const struct sandbox_spec *spec, struct err *err)
{
	cleanup_json json_t *j = spec_to_json(spec);
	cleanup_free char *text = json_dumps(j, JSON_COMPACT);
	int r = text ? path_write_atomic(e->dir, file, text, strlen(text), 0600, 0) : -EINVAL;

	return r < 0 ? err_sys(err, -r, "cannot write the spec of sandbox '%s'", e->name) : 0;
}

int store_write_spec(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err)
{
	return write_spec(e, STORE_SPEC, spec, err);
}

int store_write_agreed(const struct store_entry *e, const struct sandbox_spec *spec,
		       struct err *err)
{
	return write_spec(e, STORE_AGREED, spec, err);
}

static int read_spec(const struct store_entry *e, const char *file, struct sandbox_spec **ret,
		     struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SPEC_FILE_MAX);
	r = path_read(e->dir, file, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read the spec of sandbox '%s'", e->name);
	r = json_parse(b.data ? b.data : "", b.len, &j, err);
	if (r == 0)
		r = spec_from_json(j, ret, err);
	return r < 0 ? err_wrap(err, r, "the record of sandbox '%s' is damaged (ralph rm %s)",
				e->name, e->name)
		     : 0;
}

int store_read_spec(const struct store_entry *e, struct sandbox_spec **ret, struct err *err)
{
	return read_spec(e, STORE_SPEC, ret, err);
}

int store_read_agreed(const struct store_entry *e, struct sandbox_spec **ret, struct err *err)
{
	return read_spec(e, STORE_AGREED, ret, err);
}

int store_detach(const struct places *p, const char *name, char **ret_doomed, struct err *err)
{
	cleanup_free char *dir = entry_dir(p, name);
	char *doomed = xasprintf("%s/sandboxes/.%s.%d", p->state, name, getpid());

	*ret_doomed = NULL;
	if (rename(dir, doomed) == 0) {
		*ret_doomed = doomed;
		return 0;
	}
	free(doomed);
	return errno == ENOENT ? 0 : err_sys(err, errno, "cannot remove sandbox '%s'", name);
}

int store_destroy(const struct places *p, const char *doomed, struct err *err)
{
	int r = -ENOTEMPTY;

	/* A process that opened the record before the rename may still create a file in it (its
	 * lock, a stamp) until it notices. */
	for (int i = 0; r == -ENOTEMPTY && i < DESTROY_TRIES; i++)
		r = path_remove_tree(AT_FDCWD, doomed, err);
	return r;
}

int store_remove(const struct places *p, const char *name, struct err *err)
{
	cleanup_free char *doomed = NULL;
	int r = store_detach(p, name, &doomed, err);

	return r < 0 || !doomed ? r : store_destroy(p, doomed, err);
}

bool store_is_leftover(const char *entry)
{
	const char *dot = strrchr(entry, '.');
	uint64_t pid;

	return entry[0] == '.' && dot != entry && parse_uint(dot + 1, 1, INT32_MAX, &pid) == 0 &&
	       kill((pid_t)pid, 0) < 0;
}

static int scan(const struct places *p, struct strv *names, struct strv *leftovers, struct err *err)
{
	cleanup_free char *path = store_dir(p);
	DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot open '%s'", path);
	while ((de = readdir(dir)))
		if (name_valid(de->d_name))
			strv_push(names, de->d_name);
		else if (store_is_leftover(de->d_name))
			strv_take(leftovers, path_join(path, de->d_name));
	(void)closedir(dir);
	strv_sort(names);
	return 0;
}

bool store_is_gone(const struct places *p, const char *name)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored;

	return store_open(p, name, false, &e, &ignored) == -ENOENT;
}

int store_list(const struct places *p, struct strv *out, struct err *err)
{
	cleanup_strv struct strv leftovers = {0};
	struct err ignored = {0};
	int r = scan(p, out, &leftovers, err);

	for (size_t i = 0; i < leftovers.n; i++)
		(void)path_remove_tree(AT_FDCWD, leftovers.v[i], &ignored);
	return r;
}

int store_names(const struct places *p, struct strv *out, struct err *err)
{
	cleanup_strv struct strv ignored = {0};

	return scan(p, out, &ignored, err);
}

bool store_any_lives(const struct places *p)
{
	cleanup_strv struct strv names = {0};
	struct err ignored;

	if (store_names(p, &names, &ignored) < 0)
		return true;
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *dir = entry_dir(p, names.v[i]), *lock = path_join(dir, "lock");
		struct stat st;

		if (lstat(lock, &st) == 0 ? st.st_mode & 0100 : errno != ENOENT)
			return true;
	}
	return false;
}

int store_leftovers(const struct places *p, struct strv *out, struct err *err)
{
	cleanup_strv struct strv ignored = {0};

	return scan(p, &ignored, out, err);
}
