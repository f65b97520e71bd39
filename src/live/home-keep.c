#include "live/home-keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"
#include "live/conversations.h"
#include "live/home-migrate.h"
#include "record/home.h"

#define LOCK_MS 20000
#define OLD_MAX 9999 /* of one name */

/* Container sandboxes of the project have their memory in the volume of the login. */
static int open_memory(const struct places *p, const struct sandbox_spec *spec, struct err *err)
{
	cleanup_free char *path = NULL;
	struct sandbox_spec of_project = *spec;
	int r = 0, fd;

	of_project.home_of = SPEC_HOME_PROJECT;
	path = home_memory(p, NULL, &of_project);
	if (spec->container.volume_dir)
		r = path_mkdirs(path, 0700, err);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

static int copy_all(const struct places *p, const char *record, const char *home,
		    const struct sandbox_spec *spec, struct err *err)
{
	cleanup_fd int from = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int to = from < 0 ? -1 : open_memory(p, spec, err);
	struct conversations tally;
	int r;

	if (from < 0)
		return err_sys(err, errno, "cannot open '%s'", home);
	if (to < 0)
		return to;
	r = conversations_take(from, to, false, &tally, err);
	if (tally.left)
		log_warn("home",
			 "%zu conversations of '%s' are not copied: too large, too many, or no "
			 "plain files",
			 tally.left, spec->name);
	if (r == 0)
		autosave_take_known(p, record, spec);
	return r;
}

int home_keep(const struct places *p, const char *record, const struct sandbox_spec *spec,
	      struct err *err)
{
	cleanup_free char *home = path_join(record, HOME_OF_WORKER);
	cleanup_fd int lock = -1;
	bool alone = false;
	struct stat st;
	int r;

	if (!spec->home_key || lstat(home, &st) < 0)
		return 0;
	r = home_lock(p, spec->home_key, LOCK_MS, &lock, &alone, err);
	if (r == 0 && alone)
		r = home_migrate(p, NULL, spec, err);
	if (r == 0)
		r = home_make(p, spec->home_key, spec->project, err);
	return r < 0 ? r : copy_all(p, record, home, spec, err);
}

int home_put_old(const struct places *p, const char *home, const char *name, char **ret,
		 struct err *err)
{
	cleanup_free char *old = home_path(p, "old"), *to = path_join(old, name);
	int r = path_mkdirs(old, 0700, err);

	for (unsigned i = 2; r == 0 && i <= OLD_MAX; i++) {
		if (renameat2(AT_FDCWD, home, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
			*ret = take_ptr(to);
			return 0;
		}
		if (errno != EEXIST)
			return err_sys(err, errno, "cannot move '%s' to '%s'", home, to);
		free(to);
		to = xasprintf("%s/%s.%u", old, name, i);
	}
	return r < 0 ? r : err_set(err, EEXIST, "'%s' has too many homes of '%s'", old, name);
}

int home_keep_last(const struct places *p, const char *record, const struct sandbox_spec *spec,
		   struct err *err)
{
	cleanup_free char *home = path_join(record, HOME_OF_WORKER), *old = NULL;
	struct err why = {0};
	int r = home_keep(p, record, spec, &why);

	if (r == 0)
		return 0;
	r = home_put_old(p, home, spec->name, &old, err);
	if (r == 0)
		log_warn("home", "the conversations of '%s' stay in '%s': %s", spec->name, old,
			 why.msg);
	return r;
}

int home_empty(const struct places *p, const char *name, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *record = store_record(p, name);
	struct err ignored;
	int r = store_open(p, name, false, &e, &ignored);

	if (r == 0)
		r = store_lock(p, &e, LOCK_MS, err);
	if (r == 0)
		r = store_lock_live(p, &e, LOCK_MS, err);
	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r < 0)
		return r;
	if (store_read_spec(&e, &spec, &ignored) == 0)
		r = home_keep_last(p, record, spec, err);
	return r < 0 ? r : path_remove_tree(e.dir, HOME_OF_WORKER, err);
}
