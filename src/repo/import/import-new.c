/*
 * A new repository for what an agent began where there was none. Only references and objects come
 * over, as in every import. Hooks and the rest of the agent's git directory do not; settings are the
 * caller's, who has read the agent's as text. It becomes `.git` when everything is in it.
 */
#include "repo/import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* libgit2 follows links; what the agent left in the tree may be one. */
static int check_place(const char *root, struct err *err)
{
	cleanup_free char *real = realpath(root, NULL);

	if (!real)
		return err_sys(err, errno, "cannot open '%s'", root);
	return streq(real, root) ? 0 : err_set(err, ELOOP, "'%s' leads over a link", root);
}

/* What ralph put there to cover it is an empty directory. */
static int want_none(const char *git, struct err *err)
{
	struct stat st;

	if (lstat(git, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot look at '%s'", git);
	if (S_ISDIR(st.st_mode) && rmdir(git) == 0)
		return 0;
	return err_set(err, EEXIST, "'%s' is there again; move it away first", git);
}

/* Without a template: those hold hooks. */
static int make(const struct import_new_input *in, const char *dir, struct err *err)
{
	git_repository_init_options opts;
	cleanup_git(repository) git_repository *made = NULL;
	cleanup_git(config) git_config *config = NULL;

	(void)git_repository_init_options_init(&opts, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
	opts.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT;
	opts.initial_head = in->head;
	if (git_repository_init_ext(&made, dir, &opts) < 0 ||
	    git_repository_config(&config, made) < 0 ||
	    git_config_set_bool(config, "core.bare", 0) < 0 ||
	    git_config_set_bool(config, "core.logallrefupdates", 1) < 0)
		return gitlib_err(err, "cannot make a repository");
	return 0;
}

static int add_settings(const char *dir, const char *settings, struct err *err)
{
	cleanup_free char *path = path_join(dir, "config");
	cleanup_fd int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, settings, strlen(settings));

	return r < 0 ? err_sys(err, -r, "cannot write settings") : 0;
}

static int open_made(const struct import_new_input *in, struct import *im, struct err *err)
{
	int r = make(in, im->git.dir, err);

	if (r == 0)
		r = add_settings(im->git.dir, in->settings, err);
	if (r == 0)
		r = import_open_dirs(im, im->git.dir, err);
	/* HEAD goes to the agent's branch: the user is on none. */
	im->told_head = xstrdup(in->head);
	return r;
}

int import_new(const struct import_new_input *in, json_t *out, struct err *err)
{
	cleanup_free char *git = path_join(in->root, ".git"), *made = xasprintf("%s-XXXXXX", git);
	struct import im = {
		.name = in->name, .when = IMPORT_IDLE, .helper = -1, .lock = -1, .fresh = true};
	struct err ignored;
	int r = check_place(in->root, err);

	import_close_rest();
	if (r == 0)
		r = want_none(git, err);
	if (r == 0 && !mkdtemp(made))
		r = err_sys(err, errno, "cannot make '%s'", made);
	if (r < 0)
		return r;
	im.git.root = xstrdup(in->root);
	im.git.dir = xstrdup(made);
	im.git.common = xstrdup(made);
	r = open_made(in, &im, err);
	if (r == 0)
		r = import_take(&im, out, err);
	import_done(&im);
	if (r == 0 && (chmod(made, 0755) < 0 || rename(made, git) < 0))
		r = err_sys(err, errno, "cannot make '%s'", git);
	if (r < 0)
		(void)path_remove_tree(AT_FDCWD, made, &ignored);
	return r;
}
