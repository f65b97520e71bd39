#include "live/home-checks.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "record/home.h"

#define LOCK_MS 20000
/* Of what setup prepares, which is copied for each run of the checks. */
#define PREPARED_BYTES_MAX (16ULL * 1024 * MiB)
#define PREPARED_FILES_MAX 2000000
#define PREPARED_DEPTH_MAX 200

/* Sockets and the like are left out. */
static int copy_prepared(const struct store_entry *e, const char *to, struct err *err)
{
	static const struct copy_rules rules = {.bytes_max = PREPARED_BYTES_MAX,
						.files_max = PREPARED_FILES_MAX,
						.depth_max = PREPARED_DEPTH_MAX,
						.links = COPY_LINKS_ALL,
						.modes = true};
	int r = copy_tree(e->dir, HOME_PREPARED, e->dir, to, &rules);

	return r < 0 ? err_sys(err, -r, "cannot copy the home that setup prepared") : 0;
}

static bool is_prepared(const struct store_entry *e)
{
	struct stat st;

	return fstatat(e->dir, HOME_PREPARED, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make(const struct store_entry *e, const char *name, struct err *err)
{
	int r = path_remove_tree(e->dir, name, err);

	if (r == 0 && is_prepared(e))
		return copy_prepared(e, name, err);
	if (r == 0 && mkdirat(e->dir, name, 0700) < 0)
		r = err_sys(err, errno, "cannot make a home of sandbox '%s'", e->name);
	return r;
}

int home_checks_make(const struct store_entry *e, struct err *err)
{
	return make(e, HOME_OF_CHECKS, err);
}

int home_checks_open(const struct store_entry *e)
{
	int fd = openat(e->dir, HOME_OF_CHECKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Returns 1 where there is no record. */
static int lock(const struct places *p, const char *name, struct store_entry *e, struct err *err)
{
	int r = store_open(p, name, false, e, err);

	if (r == 0)
		r = store_lock(p, e, LOCK_MS, err);
	if (r == 0)
		r = store_lock_live(p, e, LOCK_MS, err);
	return r == -ENOENT || r == -ESTALE ? 1 : r;
}

int home_checks_keep(const struct places *p, const char *name, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = lock(p, name, &e, err);

	if (r == 0)
		r = path_remove_tree(e.dir, HOME_PREPARED, err);
	if (r == 0 && renameat(e.dir, HOME_OF_CHECKS, e.dir, HOME_PREPARED) < 0)
		r = err_sys(err, errno, "cannot keep the home that setup prepared");
	return r < 0 ? r : 0;
}

static int drop(const struct places *p, const char *name, const char *home, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = lock(p, name, &e, err);

	return r == 0 ? path_remove_tree(e.dir, home, err) : r < 0 ? r : 0;
}

int home_checks_forget(const struct places *p, const char *name, struct err *err)
{
	return drop(p, name, HOME_PREPARED, err);
}

int home_checks_drop(const struct places *p, const char *name, struct err *err)
{
	return drop(p, name, HOME_OF_CHECKS, err);
}

int home_checks_give(const struct places *p, const char *name, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = lock(p, name, &e, err);

	return r == 0 ? make(&e, HOME_OF_WORKER, err) : r < 0 ? r : 0;
}
