#include "git/libgit.h"

#include <sys/resource.h>

/*
 * When libgit2 starts, its TLS reads and parses every certificate of the system, which takes longer
 * than a whole import. ralph uses no network through it, so for this moment no file can be opened.
 */
static void init_without_certificates(void)
{
	struct rlimit was, none;

	if (getrlimit(RLIMIT_NOFILE, &was) < 0) {
		(void)git_libgit2_init();
		return;
	}
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	(void)setrlimit(RLIMIT_NOFILE, &none);
	(void)git_libgit2_init();
	(void)setrlimit(RLIMIT_NOFILE, &was);
}

void gitlib_start_open(void)
{
	/* Settings of a worktree's own: libgit2 does not read them, and does without. */
	static const char *const extensions[] = {"worktreeconfig"};

	init_without_certificates();
	/* Whose repository it is, is settled by who runs ralph on it. */
	(void)git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	(void)git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_SIZE(extensions));
}

void gitlib_start(void)
{
	static const git_config_level_t levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA,
						    GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
						    GIT_CONFIG_LEVEL_GLOBAL};

	gitlib_start_open();
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		(void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	(void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1);
	(void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
	(void)git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, (size_t)GITLIB_PACK_OBJECTS_MAX);
}

int gitlib_err(struct err *err, const char *what)
{
	const git_error *e = git_error_last();

	return err_set(err, EIO, "%s: %s", what, e && e->message ? e->message : "no reason given");
}

int gitlib_tree(git_repository *repo, const git_oid *oid, git_tree **ret, struct err *err)
{
	cleanup_git(commit) git_commit *commit = NULL;
	int r = git_commit_lookup(&commit, repo, oid);

	if (r == 0)
		r = git_commit_tree(ret, commit);
	return r < 0 ? gitlib_err(err, "cannot read a commit") : 0;
}
