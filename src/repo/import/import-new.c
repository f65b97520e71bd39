/*
 * A new repository for what an agent began where there was none. Only references and objects come
 * over, as in every import. Hooks and the rest of the agent's git directory do not; settings are the
 * caller's, who has read the agent's as text. It becomes `.git` when everything is in it.
 */
#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "repo/wide/wide.h"

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
static int make(const char *head, const char *dir, struct err *err)
{
	git_repository_init_options opts;
	cleanup_git(repository) git_repository *made = NULL;
	cleanup_git(config) git_config *config = NULL;

	(void)git_repository_init_options_init(&opts, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
	opts.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT;
	opts.initial_head = head;
	if (git_repository_init_ext(&made, dir, &opts) < 0 ||
	    git_repository_config(&config, made) < 0 ||
	    git_config_set_bool(config, "core.bare", 0) < 0 ||
	    git_config_set_bool(config, "core.logallrefupdates", 1) < 0)
		return gitlib_err(err, "cannot make a repository");
	return 0;
}

/* Names are SHA-256, which libgit2 cannot begin with. told: the settings say so already. */
static int set_wide(const char *dir, bool told, struct err *err)
{
	cleanup_free char *path = path_join(dir, "config");
	cleanup_git(config) git_config *config = NULL;

	return git_config_open_ondisk(&config, path) < 0 ||
			       git_config_set_int32(config, "core.repositoryformatversion", 1) <
				       0 ||
			       (!told && git_config_set_string(config, "extensions.objectformat",
							       "sha256") < 0)
		       ? gitlib_err(err, "cannot make a repository")
		       : 0;
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
	int r = make(in->head, im->git.dir, err);
	bool wide = false;

	if (r == 0)
		r = add_settings(im->git.dir, in->settings, err);
	if (r == 0)
		r = wide_is(im->git.dir, &wide, err);
	if (r == 0 && wide)
		r = set_wide(im->git.dir, true, err);
	if (r == 0)
		r = import_open_dirs(im, im->git.dir, err);
	if (r == 0)
		r = import_git_start(im, err);
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

/* ---- a submodule that the user has not initialised ---- */

int import_check_module(const struct import *m, const struct import *top, struct err *err)
{
	const char *module = m->module;

	for (const char *slash = strchr(module, '/'); slash; slash = strchr(slash + 1, '/')) {
		cleanup_free char *head =
			xasprintf("%s/%.*s/HEAD", top->git.dir, (int)(slash - module), module);
		struct stat st;

		if (lstat(head, &st) == 0)
			return err_set(err, EEXIST, "'%s' lies in another submodule", module);
	}
	return 0;
}

static int set_worktree(const struct import *m, const char *root, struct err *err)
{
	cleanup_free char *path = path_join(root, m->module + strlen("modules/"));
	cleanup_git(config) git_config *config = NULL;

	return git_repository_config(&config, m->repo) < 0 ||
			       git_config_set_string(config, "core.worktree", path) < 0
		       ? gitlib_err(err, m->module)
		       : 0;
}

int import_new_module(struct import *m, const struct import *top, struct err *err)
{
	cleanup_free char *modules = path_join(top->git.dir, "modules");
	int r = import_check_module(m, top, err);

	if (r < 0)
		return r;
	if (mkdir(modules, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", modules);
	m->made = path_join(modules, IMPORT_NEW_MODULE "XXXXXX");
	if (!mkdtemp(m->made)) {
		r = err_sys(err, errno, "cannot make '%s'", m->made);
		free(take_ptr(m->made));
		return r;
	}
	/* Nothing in there is the user's. */
	if (m->when == IMPORT_HOLD)
		m->when = IMPORT_IDLE;
	m->git.dir = xstrdup(m->made);
	m->git.common = xstrdup(m->made);
	m->git.root = xstrdup(m->made);
	r = make("main", m->made, err);
	if (r == 0 && top->wide)
		r = set_wide(m->made, false, err);
	if (r == 0)
		r = import_open_dirs(m, m->made, err);
	if (r == 0 && m->wide)
		r = import_git_start(m, err);
	return r == 0 ? import_recover(m, err) : r;
}

/* What the import still has to remove went along. */
static void follow(struct import *m, const char *dir)
{
	char *quarantine =
		m->quarantine ? xasprintf("%s%s", dir, m->quarantine + strlen(m->made)) : NULL;

	free(m->quarantine);
	m->quarantine = quarantine;
	gitdir_done(&m->git);
	m->git = (struct gitdir){.root = xstrdup(dir), .dir = xstrdup(dir), .common = xstrdup(dir)};
}

/* It takes its place when everything is in it; r: what became of that. */
int import_end_module(struct import *m, const struct import *top, int r, struct err *err)
{
	cleanup_free char *dir = path_join(top->git.dir, m->module), *parent = path_dir(dir);
	struct err ignored;

	import_release(m); /* by its present name */
	if (r == 0)
		r = set_worktree(m, top->git.root, err);
	if (r == 0)
		r = path_mkdirs(parent, 0755, err);
	if (r == 0 && (chmod(m->made, 0755) < 0 || rename(m->made, dir) < 0))
		r = err_sys(err, errno, "cannot make '%s'", dir);
	if (r < 0)
		(void)path_remove_tree(AT_FDCWD, m->made, &ignored);
	else
		follow(m, dir);
	free(take_ptr(m->made));
	return r;
}

static bool is_ours(const struct import *top, const char *name)
{
	for (size_t i = 0; i < top->n_modules; i++)
		if (top->modules[i].made && streq(path_base(top->modules[i].made), name))
			return true;
	return false;
}

/* A killed import left it. */
void import_drop_modules(const struct import *top)
{
	cleanup_free char *modules = path_join(top->git.dir, "modules");
	DIR *d = opendir(modules);
	struct dirent *de;
	struct err ignored;

	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, IMPORT_NEW_MODULE, strlen(IMPORT_NEW_MODULE)) == 0 &&
		    !is_ours(top, de->d_name))
			(void)path_remove_tree(dirfd(d), de->d_name, &ignored);
	if (d)
		(void)closedir(d);
}
