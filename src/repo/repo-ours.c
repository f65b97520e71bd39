/*
 * Files that ralph itself writes while agents commit: the list of tasks and the rest of .ralph. An
 * agent that commits everything commits these files too, and that is allowed if they are unchanged.
 * A commit with other content is an offence: the next reset would put it into the host's files.
 */
#include "repo/repo.h"

#include <string.h>

#include "base/path.h"
#include "repo/repo-parts.h"

#define OURS_MAX 1000

struct ours_job {
	const char *from, *to;
	const struct strv *own;
};

static bool is_own(const struct strv *own, const char *path)
{
	for (size_t i = 0; i < own->n; i++)
		if (path_under(path, own->v[i]))
			return true;
	return false;
}

/* True when the file in the working tree has the same bytes as in the commit. */
static bool is_same(const struct repo_job *j, const git_diff_delta *d)
{
	cleanup_free char *path = path_join(git_repository_workdir(j->git), d->new_file.path);
	git_oid oid;

	if (d->status == GIT_DELTA_DELETED)
		return git_odb_hashfile(&oid, path, GIT_OBJECT_BLOB) < 0;
	return d->new_file.mode != GIT_FILEMODE_LINK &&
	       git_odb_hashfile(&oid, path, GIT_OBJECT_BLOB) == 0 &&
	       git_oid_equal(&oid, &d->new_file.id);
}

static int find_ours(struct repo_job *j, json_t *out, struct err *err)
{
	const struct ours_job *o = j->arg;
	cleanup_git(tree) git_tree *a = NULL, *b = NULL;
	cleanup_git(diff) git_diff *diff = NULL;
	json_t *paths = json_array(), *differ = json_array();
	git_oid from, to;
	int r = 0;

	(void)json_object_set_new(out, "paths", paths);
	(void)json_object_set_new(out, "differ", differ);
	if (*o->from)
		r = repo_oid_of(o->from, &from, err);
	if (r == 0 && *o->from)
		r = gitlib_tree(j->git, &from, &a, err);
	if (r == 0)
		r = repo_oid_of(o->to, &to, err);
	if (r == 0)
		r = gitlib_tree(j->git, &to, &b, err);
	if (r < 0)
		return r;
	if (git_diff_tree_to_tree(&diff, j->git, a, b, NULL) < 0)
		return gitlib_err(err, "cannot compare commits");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);

		if (!is_own(o->own, d->new_file.path) || json_array_size(paths) == OURS_MAX)
			continue;
		(void)json_array_append_new(paths, json_text(d->new_file.path));
		if (!is_same(j, d))
			(void)json_array_append_new(differ, json_text(d->new_file.path));
	}
	return 0;
}

static int find_tracked(struct repo_job *j, json_t *out, struct err *err)
{
	const struct strv *paths = j->arg;
	cleanup_git(commit) git_commit *commit = NULL;
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_free char *ref = NULL;
	json_t *list = json_array();
	git_oid head;
	int r = repo_head_ref(j->git, &ref, &head, err);

	(void)json_object_set_new(out, "paths", list);
	if (r < 0 || git_oid_is_zero(&head))
		return r;
	if (git_commit_lookup(&commit, j->git, &head) < 0 || git_commit_tree(&tree, commit) < 0)
		return gitlib_err(err, "cannot read HEAD");
	for (size_t i = 0; i < paths->n; i++) {
		git_tree_entry *e = NULL;

		if (git_tree_entry_bypath(&e, tree, paths->v[i]) == 0)
			(void)json_array_append_new(list, json_text(paths->v[i]));
		git_tree_entry_free(e);
	}
	return 0;
}

int repo_tracked(struct repo *r, const struct strv *paths, struct strv *ret, struct err *err)
{
	const struct repo_task task = REPO_TASK(find_tracked, paths, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0)
		repo_answer_list(out, "paths", ret);
	return rc;
}

int repo_ours(struct repo *r, const char *from, const char *to, const struct strv *own,
	      struct strv *ret_paths, struct strv *ret_differ, struct err *err)
{
	const struct ours_job o = {.from = from, .to = to, .own = own};
	const struct repo_task t = REPO_TASK(find_ours, &o, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &t, &out, err);

	if (rc < 0)
		return rc;
	repo_answer_list(out, "paths", ret_paths);
	repo_answer_list(out, "differ", ret_differ);
	return 0;
}
