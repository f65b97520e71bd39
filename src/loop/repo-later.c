/* Stands in for parts of repo.h that are not here yet; goes when they are. */
#include "loop/repo.h"

int repo_push(struct repo *r, const char *remote, const char *branch, int progress, struct err *err)
{
	return err_set(err, ENOSYS, "--push is not here yet");
}

int repo_worktree_add(struct repo *r, const char *branch, const char *base, char **ret_path,
		      struct err *err)
{
	return err_set(err, ENOSYS, "--worktree is not here yet");
}
