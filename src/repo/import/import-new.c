/*
 * The repository of an agent that began one where there was none. Only references and objects come
 * over, as in every import. Settings, hooks and the rest of the agent's git directory do not.
 */
#include "repo/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* What ralph put there to cover it is an empty directory. */
static int want_none(const char *git, struct err *err)
{
	struct stat st;

	if (lstat(git, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot look at '%s'", git);
	if (S_ISDIR(st.st_mode) && rmdir(git) == 0)
		return 0;
	return err_set(err, EEXIST, "there is a repository in '%s' already", git);
}

static int make(struct import *im, struct err *err)
{
	git_repository_init_options opts;
	cleanup_git(repository) git_repository *made = NULL;
	cleanup_git(config) git_config *config = NULL;

	(void)git_repository_init_options_init(&opts, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
	opts.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT;
	opts.initial_head = "main";
	if (git_repository_init_ext(&made, im->git.dir, &opts) < 0 ||
	    git_repository_config(&config, made) < 0 ||
	    git_config_set_bool(config, "core.bare", 0) < 0 ||
	    git_config_set_bool(config, "core.logallrefupdates", 1) < 0)
		return gitlib_err(err, "cannot make a repository");
	return 0;
}

static int open_made(struct import *im, struct err *err)
{
	int r = make(im, err);

	if (r == 0)
		r = import_open_dirs(im, im->git.dir, err);
	/* HEAD goes to the agent's branch: the user is on none. */
	im->told_head = xstrdup("refs/heads/main");
	return r;
}

int import_new(const char *root, const char *name, json_t *out, struct err *err)
{
	cleanup_free char *git = path_join(root, ".git"), *made = xasprintf("%s-XXXXXX", git);
	struct import im = {
		.name = name, .may_switch = true, .helper = -1, .lock = -1, .fresh = true};
	struct err ignored;
	bool any;
	int r = want_none(git, err);

	import_close_rest();
	if (r == 0 && !mkdtemp(made))
		r = err_sys(err, errno, "cannot make '%s'", made);
	if (r < 0)
		return r;
	im.git.root = xstrdup(root);
	im.git.dir = xstrdup(made);
	im.git.common = xstrdup(made);
	r = open_made(&im, err);
	if (r == 0)
		r = import_take(&im, out, err);
	any = r == 0 && im.n_rows;
	import_done(&im);
	if (any && (chmod(made, 0755) < 0 || rename(made, git) < 0))
		r = err_sys(err, errno, "cannot make '%s'", git);
	if (r < 0 || !any)
		(void)path_remove_tree(AT_FDCWD, made, &ignored);
	return r;
}
