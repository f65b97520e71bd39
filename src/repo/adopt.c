#include "repo/adopt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "repo/import.h"

/* libgit2 follows links; what the agent left in the tree may be one. */
static int check_place(const char *root, struct err *err)
{
	cleanup_free char *real = realpath(root, NULL);

	if (!real)
		return err_sys(err, errno, "cannot open '%s'", root);
	return streq(real, root) ? 0 : err_set(err, ELOOP, "'%s' leads over a link", root);
}

/* Without a template: those hold hooks. */
static int make_repository(const char *root, const char *head, struct err *err)
{
	git_repository_init_options o = {.version = GIT_REPOSITORY_INIT_OPTIONS_VERSION};
	git_repository *repo = NULL;
	int r;

	o.flags = GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
	o.initial_head = head;
	r = git_repository_init_ext(&repo, root, &o);
	git_repository_free(repo);
	return r < 0 ? gitlib_err(err, root) : 0;
}

static int add_settings(int git, const char *settings, struct err *err)
{
	cleanup_fd int fd = openat(git, "config", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, settings, strlen(settings));

	return r < 0 ? err_sys(err, -r, "cannot write settings") : 0;
}

/* Nothing was told to whoever made the stream. */
static int tell_nothing(struct err *err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = null < 0 || (null != IMPORT_TIPS_FD && dup2(null, IMPORT_TIPS_FD) < 0) ? -errno : 0;

	return r < 0 ? err_sys(err, -r, "cannot open /dev/null") : 0;
}

int adopt_run(const char *root, const char *name, const char *head, const char *settings,
	      json_t *out, struct err *err)
{
	cleanup_free char *git = path_join(root, ".git");
	cleanup_fd int parent = -1, at = -1;
	struct err ignored;
	struct stat st;
	int r = check_place(root, err);

	if (r < 0)
		return r;
	if (lstat(git, &st) == 0)
		return err_set(err, EEXIST, "'%s' is there again; move it away first", git);
	r = make_repository(root, head, err);
	parent = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	at = parent < 0 ? -1
			: openat(parent, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0)
		r = add_settings(at, settings, err);
	if (r == 0)
		r = tell_nothing(err);
	if (r == 0)
		r = import_run(root, name, true, out, err);
	/* The import has given up the right to do this, and the caller does it then. */
	if (r < 0 && parent >= 0)
		(void)path_remove_tree(parent, ".git", &ignored);
	return r;
}
