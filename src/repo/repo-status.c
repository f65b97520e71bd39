/*
 * The files of a working tree that are not as in HEAD. Most of a large tree is unchanged, so a look
 * of our own (repo-look.h) finds the few paths in doubt, and libgit2 judges those: it knows ignored
 * names, line ends and modes. It gets an index of these paths only, since reading the whole index
 * takes it as long as the look. What the look cannot tell, libgit2 judges for the whole tree.
 */
#include <git2/sys/repository.h>
#include <string.h>

#include "repo/repo-look.h"
#include "repo/repo-parts.h"

#define ATTRIBUTES ".gitattributes"

static void status_options(git_status_options *opts)
{
	(void)git_status_options_init(opts, GIT_STATUS_OPTIONS_VERSION);
	opts->show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
	/* Submodules are excluded: their settings are not protected. */
	opts->flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
		      GIT_STATUS_OPT_EXCLUDE_SUBMODULES | GIT_STATUS_OPT_INCLUDE_UNREADABLE;
}

static int whole_status(git_repository *git, git_tree *base, git_status_list **ret, struct err *err)
{
	git_status_options opts;

	status_options(&opts);
	opts.baseline = base;
	if (git_status_list_new(ret, git, &opts) < 0)
		return gitlib_err(err, "cannot compare the working tree");
	return 0;
}

/* True when nothing is staged: the index is the tree of HEAD. */
static bool is_head(git_repository *git, const struct gitindex *index)
{
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_free char *ref = NULL;
	uint8_t own[GITINDEX_HASH_LEN];
	struct err none;
	git_oid head;

	return repo_head_ref(git, &ref, &head, &none) == 0 && !git_oid_is_zero(&head) &&
	       gitlib_tree(git, &head, &tree, &none) == 0 && gitindex_tree(index, own) == 0 &&
	       memcmp(git_tree_id(tree)->id, own, sizeof(own)) == 0;
}

static bool is_attributes(const char *path, size_t len)
{
	size_t n = strlen(ATTRIBUTES);

	return len >= n && streq(path + len - n, ATTRIBUTES);
}

/* Without times, so that libgit2 compares the content. */
static int add_entry(git_index *to, const struct gitindex *from, size_t i)
{
	git_index_entry e = {.mode = gitindex_mode(&from->v[i]),
			     .flags = gitindex_flags(&from->v[i]),
			     .file_size = gitindex_size(&from->v[i]),
			     .path = gitindex_path(from, i)};

	memcpy(e.id.id, gitindex_oid(&from->v[i]), GITINDEX_HASH_LEN);
	return git_index_add(to, &e);
}

static int index_of_doubt(const struct repo_look *l, git_index **ret)
{
	int r = git_index_new(ret);

	for (size_t i = 0; r == 0 && i < l->index.n; i++)
		if (l->states[i] != LOOK_SAME ||
		    is_attributes(gitindex_path(&l->index, i), l->index.v[i].len))
			r = add_entry(*ret, &l->index, i);
	return r;
}

static int status_of_doubt(git_repository *git, const struct repo_look *l, git_status_list **ret,
			   struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	git_status_options opts;
	int r;

	status_options(&opts);
	opts.flags |= GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH | GIT_STATUS_OPT_NO_REFRESH;
	opts.pathspec = (git_strarray){.strings = l->paths.v, .count = l->paths.n};
	if (index_of_doubt(l, &index) < 0 || git_repository_set_index(git, index) < 0)
		return gitlib_err(err, "cannot make an index");
	r = git_status_list_new(ret, git, &opts);
	if (r < 0)
		r = gitlib_err(err, "cannot compare the working tree");
	(void)git_repository_set_index(git, NULL); /* the next user reads the real one */
	return r;
}

static bool ignores_case(const struct repo *r)
{
	const char *value = repo_view_setting(r, "core.ignorecase");

	return value && !streq(value, "false");
}

int repo_status(struct repo_job *j, git_tree *base, git_status_list **ret, struct err *err)
{
	const struct gitdir *at = &j->repo->git;
	struct repo_look look = {0};
	int r;

	if (base || ignores_case(j->repo) || repo_look(at->root, at->dir, &look) < 0 ||
	    !is_head(j->git, &look.index))
		r = whole_status(j->git, base, ret, err);
	else
		r = look.paths.n ? status_of_doubt(j->git, &look, ret, err) : 0;
	repo_look_done(&look);
	return r;
}

size_t repo_status_count(git_status_list *list)
{
	return list ? git_status_list_entrycount(list) : 0;
}
