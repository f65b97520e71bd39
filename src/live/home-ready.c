#include "live/home-ready.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"
#include "live/home-checks.h"
#include "live/home-migrate.h"
#include "live/login-left.h"
#include "record/home-fill.h"
#include "record/home.h"
#include "workspace/gitdir.h"

#define ENDING_MS 3000 /* bounded: whoever has that lock may wait for ours */

/* A throw-away home that a killed sandbox left is not used again. */
static int make_own(const struct store_entry *e, const struct sandbox_spec *spec, struct err *err)
{
	bool once = spec->home_of == SPEC_HOME_ONCE;
	const char *name = once ? HOME_ONCE : HOME_OF_WORKER;
	int r = 0;

	if (mkdirat(e->dir, name, 0700) == 0 || (errno == EEXIST && !once))
		return 0;
	if (errno == EEXIST)
		r = path_remove_tree(e->dir, name, err);
	if (r == 0 && mkdirat(e->dir, name, 0700) < 0)
		r = err_sys(err, errno, "cannot make the home of sandbox '%s'", e->name);
	return r;
}

/* The same place with, or without, a repository. The caller frees it. */
static char *other_project(const char *project)
{
	return streq(path_base(project), ".git") ? path_dir(project) : path_join(project, ".git");
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/*
 * A directory that became a repository, or is none any more, has another key. Its home is that of the
 * same people and agents, so it goes along.
 */
static int follow_git(const struct places *p, const struct sandbox_spec *spec, struct err *err)
{
	const struct gitdir none = {0};
	cleanup_free char *other = other_project(spec->project), *key = NULL, *whose = NULL;
	cleanup_free char *now = home_path(p, spec->home_key), *was = NULL;
	char instance[GITDIR_KEY_LEN + 1];
	cleanup_fd int lock = -1;
	int r;

	gitdir_key(&none, other, instance);
	key = home_key(other, instance);
	was = home_path(p, key);
	whose = home_project(p, key);
	if (is_there(now) || !is_there(was) || !whose || !streq(whose, other))
		return 0;
	/* Without a repository its git directory must be gone, and not only be one that does not count. */
	if (!streq(path_base(spec->project), ".git") && is_there(other))
		return 0;
	/* The supervisor of a sandbox that has just ended may have it yet. */
	r = home_lock_alone(p, key, ENDING_MS, &lock, err);
	if (r == -EBUSY)
		return err_set(err, EBUSY,
			       "a sandbox is running with the home that '%s' had before its "
			       "repository was made or removed; stop it first: ralph ls",
			       spec->workspace);
	if (r == 0)
		r = home_rename(p, key, spec->home_key, err);
	if (r == 0)
		log_info("home", "the home of '%s' is that of '%s' now", other, spec->project);
	return r;
}

static int make_projects(const struct places *p, const struct store_entry *e,
			 const struct sandbox_spec *spec, bool alone, struct err *err)
{
	int r = alone ? follow_git(p, spec, err) : 0;

	if (r == 0 && alone)
		r = home_migrate(p, e, spec, err);

	if (r == 0)
		r = home_make(p, spec->home_key, spec->project, err);
	if (r == 0)
		home_link(e, spec->home_key);
	return r;
}

static int begin_values(const struct places *p, const struct store_entry *e,
			const struct sandbox_spec *spec, struct err *err)
{
	cleanup_free char *record = store_record(p, e->name);
	int r = values_begin(p, record, spec);

	return r < 0 ? err_sys(err, -r, "cannot write the record of sandbox '%s'", e->name) : 0;
}

int home_ready(const struct places *p, const struct store_entry *e, const struct sandbox_spec *spec,
	       bool alone, struct err *err)
{
	cleanup_fd int home = -1;
	int r = spec->checks			     ? home_checks_make(e, err)
		: spec->home_of == SPEC_HOME_PROJECT ? make_projects(p, e, spec, alone, err)
						     : make_own(e, spec, err);

	if (r < 0)
		return r;
	home = spec->checks ? home_checks_open(e) : home_open(p, e, spec);
	if (home < 0)
		return err_sys(err, -home, "cannot open the home of sandbox '%s'", e->name);
	r = begin_values(p, e, spec, err);
	if (r == 0)
		r = login_left_clean(p, e, home, spec, alone, err);
	return r < 0 ? r : home_fill(home, spec, err);
}
