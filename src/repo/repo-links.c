#include "repo/repo-move.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "git/tree-path.h"
#include "repo/repo-file.h"

/*
 * libgit2 follows a symbolic link where a tree has a directory: version 1.5.1 removed files behind
 * such a link in a test. So a checkout that replaces everything removes these links first; any
 * other checkout is refused.
 */
struct links {
	int root;
	bool remove;
	char *found;
};

static int look_at_dir(const char *parent, const git_tree_entry *e, void *arg)
{
	struct links *l = arg;
	cleanup_free char *path = xasprintf("%s%s", parent, git_tree_entry_name(e));
	uint32_t mode;
	struct buf unused;
	int r;

	if (git_tree_entry_type(e) != GIT_OBJECT_TREE)
		return 0;
	buf_init(&unused, 4 * KiB);
	r = repo_file_read(l->root, path, &unused, &mode);
	buf_done(&unused);
	if (r == -EISDIR)
		return 0; /* look into it */
	/* A missing path, a file or a special file has nothing below it. */
	if (r == 0 && mode == GIT_FILEMODE_LINK) {
		if (!l->remove) {
			l->found = take_ptr(path);
			return -1;
		}
		(void)repo_file_remove(l->root, path);
	}
	return 1;
}

int repo_clear_links(git_repository *git, git_tree *tree, bool remove, struct err *err)
{
	cleanup_fd int root = open(git_repository_workdir(git), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct links l = {.root = root, .remove = remove};
	cleanup_free char *shown = NULL;
	int r;

	if (!tree)
		return 0;
	r = git_tree_walk(tree, GIT_TREEWALK_PRE, look_at_dir, &l);
	if (r < 0 && l.found) {
		shown = gitpath_shown(l.found, strlen(l.found), 200);
		free(l.found);
		return err_set(err, EBUSY, "'%s' is a link where a directory was; put it back",
			       shown);
	}
	return r < 0 ? gitlib_err(err, "cannot read a tree") : 0;
}
