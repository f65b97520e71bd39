#include "record/home.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "record/name.h"

#define LOCK_STEP_MS 10

/* ---- where ---- */

/* /src/shop/.git is the project "shop", as is /src/shop.git. */
static char *readable(const char *project)
{
	const char *base = path_base(project);
	cleanup_free char *dir = streq(base, ".git") ? path_dir(project) : xstrdup(project);
	char *name = name_part(path_base(dir), NAME_LEN_MAX - HOME_KEY_DIGITS - 1);
	size_t n = strlen(name);

	if (n > 4 && streq(name + n - 4, "-git"))
		name[n - 4] = '\0';
	return name;
}

char *home_key(const char *project, const char *instance)
{
	cleanup_free char *name = readable(project);

	return xasprintf("%s-%.*s", name, HOME_KEY_DIGITS, instance);
}

char *home_dir(const struct places *p)
{
	return path_join(p->state, "homes");
}

char *home_path(const struct places *p, const char *key)
{
	return xasprintf("%s/homes/%s", p->state, key);
}

char *home_beside(const struct places *p, const char *key, const char *what)
{
	return xasprintf("%s/homes/%s.%s", p->state, key, what);
}

/* Where in the record the home is; NULL: it is the project's. */
static const char *in_record(const struct sandbox_spec *spec)
{
	if (!spec || !spec->home_key)
		return "home";
	return spec->home_of == SPEC_HOME_WORKER ? HOME_OF_WORKER
	       : spec->home_of == SPEC_HOME_ONCE ? HOME_ONCE
						 : NULL;
}

char *home_of(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	const char *own = in_record(spec);

	return own ? path_join(record, own) : home_path(p, spec->home_key);
}

char *home_mounted(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	return spec->checks ? path_join(record, HOME_OF_CHECKS) : home_of(p, record, spec);
}

char *home_memory(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	const char *volume = spec ? spec->container.volume_dir : NULL;

	if (!volume)
		return home_of(p, record, spec);
	return spec->home_key ? path_join(volume, spec->home_key) : xstrdup(volume);
}

int home_open(const struct places *p, const struct store_entry *e, const struct sandbox_spec *spec)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	const char *own = in_record(spec);
	cleanup_free char *path = own ? NULL : home_path(p, spec->home_key);
	int fd = own ? openat(e->dir, own, flags) : open(path, flags);

	return fd < 0 ? -errno : fd;
}

/* ---- the lock ---- */

static int lock_until(int fd, int how, uint64_t end)
{
	const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (now_ms() >= end)
			return -EBUSY;
		(void)nanosleep(&step, NULL);
	}
	return 0;
}

/* The file goes with the home: a lock of one that is gone is no lock. */
static bool is_current(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int open_lock(const struct places *p, const char *path, struct err *err)
{
	cleanup_free char *dir = home_dir(p);
	int r = path_mkdirs(dir, 0700, err), fd;

	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

static int take(const struct places *p, const char *key, bool share, int timeout_ms, int *ret,
		bool *ret_alone, struct err *err)
{
	cleanup_free char *path = home_beside(p, key, "lock");
	uint64_t end = now_ms() + (uint64_t)timeout_ms;

	for (;;) {
		cleanup_fd int fd = open_lock(p, path, err);
		int r;

		if (fd < 0)
			return fd;
		r = lock_until(fd, LOCK_EX, share ? 0 : end);
		*ret_alone = r == 0;
		if (r == -EBUSY && share)
			r = lock_until(fd, LOCK_SH, end);
		if (r == -EBUSY)
			return err_set(err, EBUSY, "the home '%s' is in use", key);
		if (r < 0)
			return err_sys(err, -r, "cannot lock the home '%s'", key);
		if (is_current(fd, path)) {
			*ret = take_fd(fd);
			return 0;
		}
	}
}

int home_lock(const struct places *p, const char *key, int timeout_ms, int *ret, bool *ret_alone,
	      struct err *err)
{
	return take(p, key, true, timeout_ms, ret, ret_alone, err);
}

int home_lock_alone(const struct places *p, const char *key, int timeout_ms, int *ret,
		    struct err *err)
{
	bool ignored;

	return take(p, key, false, timeout_ms, ret, &ignored, err);
}

int home_share(const struct places *p, const char *key, int lock, struct err *err)
{
	cleanup_free char *path = home_beside(p, key, "lock");

	/* The kernel lets go of the one lock before it takes the other. */
	if (flock(lock, LOCK_SH) < 0)
		return err_sys(err, errno, "cannot lock the home '%s'", key);
	return is_current(lock, path) ? 0 : err_set(err, ESTALE, "the home '%s' was removed", key);
}

/* ---- making and removing ---- */

char *home_project(const struct places *p, const char *key)
{
	cleanup_free char *link = home_beside(p, key, "project");
	char text[PATH_MAX];
	ssize_t n = readlink(link, text, sizeof(text));

	return n <= 0 || n == sizeof(text) ? NULL : xstrndup(text, (size_t)n);
}

int home_make(const struct places *p, const char *key, const char *project, struct err *err)
{
	cleanup_free char *path = home_path(p, key), *link = home_beside(p, key, "project"),
			  *whose = NULL;
	int r = path_mkdirs(path, 0700, err);

	if (r < 0)
		return r;
	if (symlink(project, link) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(err, errno, "cannot write '%s'", link);
	whose = home_project(p, key);
	if (whose && streq(whose, project))
		return 0;
	return err_set(err, EEXIST, "the home '%s' belongs to another project, '%s'", path,
		       whose ? whose : "?");
}

void home_link(const struct store_entry *e, const char *key)
{
	cleanup_free char *to = xasprintf("../../homes/%s", key);
	char now[PATH_MAX];
	ssize_t n = readlinkat(e->dir, "home", now, sizeof(now));

	if (n > 0 && (size_t)n == strlen(to) && memcmp(now, to, (size_t)n) == 0)
		return;
	if (n > 0)
		(void)unlinkat(e->dir, "home", 0);
	if (symlinkat(to, e->dir, "home") < 0)
		log_debug("home", "cannot link to '%s'", to); /* ralph itself does not need it */
}

static void forget_exports(int volumes, const char *at)
{
	cleanup_free char *known = xasprintf("%s.exported.json", at), *lock = NULL;

	lock = xasprintf("%s.lock", known);
	(void)unlinkat(volumes, known, 0);
	(void)unlinkat(volumes, lock, 0);
}

/* The memory of agents in containers, in the volume of each login. */
static int remove_in_volumes(const struct places *p, const char *key, struct err *err)
{
	cleanup_free char *volumes = path_join(p->state, "volumes");
	DIR *d = opendir(volumes);
	const struct dirent *e;
	int r = 0;

	while (d && r == 0 && (e = readdir(d))) {
		cleanup_free char *at = xasprintf("%s/%s", e->d_name, key);

		if (e->d_name[0] == '.' || e->d_type != DT_DIR)
			continue;
		r = path_remove_tree(dirfd(d), at, err);
		forget_exports(dirfd(d), at);
	}
	if (d)
		(void)closedir(d);
	return r;
}

int home_remove(const struct places *p, const char *key, struct err *err)
{
	static const char *const beside[] = {
		"values", "values.lock", "exported.json", "exported.json.lock",
		"piped",  "project",	 "lock"};
	cleanup_free char *path = home_path(p, key),
			  *doomed = xasprintf("%s/homes/.%s.%d", p->state, key, getpid());
	int r = remove_in_volumes(p, key, err);

	if (r < 0)
		return r;
	if (rename(path, doomed) < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove the home '%s'", key);
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		cleanup_free char *file = home_beside(p, key, beside[i]);

		(void)unlink(file);
	}
	return path_remove_tree(AT_FDCWD, doomed, err);
}

/* The memory of agents in containers. */
static void rename_in_volumes(const struct places *p, const char *from, const char *to)
{
	static const char *const ends[] = {"", ".exported.json"};
	cleanup_free char *volumes = path_join(p->state, "volumes");
	DIR *d = opendir(volumes);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || e->d_type != DT_DIR)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			cleanup_free char *a = xasprintf("%s/%s%s", e->d_name, from, ends[i]);
			cleanup_free char *b = xasprintf("%s/%s%s", e->d_name, to, ends[i]);

			if (renameat2(dirfd(d), a, dirfd(d), b, RENAME_NOREPLACE) < 0 &&
			    errno != ENOENT)
				log_warn("home", "'%s/%s' stays where it is: %s", volumes, a,
					 strerror(errno));
		}
	}
	if (d)
		(void)closedir(d);
}

int home_rename(const struct places *p, const char *from, const char *to, struct err *err)
{
	static const char *const beside[] = {"values", "exported.json", "piped"};
	static const char *const rest[] = {"values.lock", "exported.json.lock", "project", "lock"};
	cleanup_free char *is = home_path(p, from), *becomes = home_path(p, to);

	rename_in_volumes(p, from, to);
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		cleanup_free char *a = home_beside(p, from, beside[i]);
		cleanup_free char *b = home_beside(p, to, beside[i]);

		if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE) < 0 && errno != ENOENT)
			return err_sys(err, errno, "cannot move '%s' to '%s'", a, b);
	}
	/* The home itself goes last: without it the next call would have nothing to do. */
	if (renameat2(AT_FDCWD, is, AT_FDCWD, becomes, RENAME_NOREPLACE) < 0)
		return err_sys(err, errno, "cannot move '%s' to '%s'", is, becomes);
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
		cleanup_free char *file = home_beside(p, from, rest[i]);

		(void)unlink(file);
	}
	return 0;
}

/* ---- lists ---- */

typedef bool accept_fn(const char *name);

bool home_is_key(const char *name)
{
	size_t n = strlen(name);

	return name_valid(name) && n > HOME_KEY_DIGITS + 1 &&
	       name[n - HOME_KEY_DIGITS - 1] == '-' &&
	       strspn(name + n - HOME_KEY_DIGITS, "0123456789abcdef") == HOME_KEY_DIGITS;
}

static bool is_old(const char *name)
{
	return name[0] != '.';
}

static int list(const char *dir, accept_fn *accept, struct strv *ret, struct err *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return err_sys(err, errno, "cannot open '%s'", dir);
	while ((e = readdir(d)))
		if (accept(e->d_name))
			strv_push(ret, e->d_name);
	(void)closedir(d);
	strv_sort(ret);
	return 0;
}

int home_list(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_free char *dir = home_dir(p);

	return list(dir, home_is_key, ret, err);
}

int home_list_old(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_free char *dir = home_path(p, "old");

	return list(dir, is_old, ret, err);
}

/* Not KEY, and not what lies beside it. */
static bool is_of_no_project(const char *name)
{
	cleanup_free char *key = xstrndup(name, strcspn(name, "."));

	return !streq(name, ".") && !streq(name, "..") && !home_is_key(name) && !home_is_key(key);
}

int home_list_volumes(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_free char *dir = path_join(p->state, "volumes");
	cleanup_strv struct strv volumes = {0};
	int r = list(dir, is_old, &volumes, err);

	for (size_t i = 0; r == 0 && i < volumes.n; i++) {
		cleanup_free char *volume = path_join(dir, volumes.v[i]);
		cleanup_strv struct strv names = {0};

		r = list(volume, is_of_no_project, &names, err);
		for (size_t k = 0; r == 0 && k < names.n; k++)
			strv_take(ret, path_join(volume, names.v[k]));
	}
	return r;
}

int home_leftovers(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_free char *dir = home_dir(p);
	cleanup_strv struct strv names = {0};
	int r = list(dir, store_is_leftover, &names, err);

	for (size_t i = 0; i < names.n; i++)
		strv_take(ret, path_join(dir, names.v[i]));
	return r;
}
