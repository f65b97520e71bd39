#include "repo/repo-move.h"

#include <string.h>

#include "git/tree-path.h"

#define CONFLICTS_MAX 200

struct want_merge {
	const char *branch, *message;
};

static void put_conflicts(git_index *index, json_t *out)
{
	json_t *list = json_array();
	git_index_conflict_iterator *it = NULL;
	const git_index_entry *base, *ours, *theirs;

	(void)json_object_set_new(out, "conflicts", list);
	if (git_index_conflict_iterator_new(&it, index) < 0)
		return;
	while (git_index_conflict_next(&base, &ours, &theirs, it) == 0 &&
	       json_array_size(list) < CONFLICTS_MAX) {
		const char *path = ours ? ours->path : theirs ? theirs->path : base->path;
		cleanup_free char *shown = gitpath_shown(path, strlen(path), 400);

		(void)json_array_append_new(list, json_text(shown));
	}
	git_index_conflict_iterator_free(it);
}

static int commit_merge(struct repo_job *j, git_index *index, git_commit *ours, git_commit *theirs,
			const char *message, git_oid *ret, struct err *err)
{
	const git_commit *parents[] = {ours, theirs};
	cleanup_git(signature) git_signature *who = NULL;
	cleanup_git(tree) git_tree *tree = NULL;
	git_oid oid;
	int r = repo_signature(j->repo, &who, err);

	if (r < 0)
		return r;
	if (git_index_write_tree_to(&oid, index, j->git) < 0 ||
	    git_tree_lookup(&tree, j->git, &oid) < 0 ||
	    git_commit_create(ret, j->git, NULL, who, who, NULL, message, tree, 2,
			      (const git_commit **)(void *)parents) < 0)
		return gitlib_err(err, "cannot commit the merge");
	return 0;
}

static int merge_commits(struct repo_job *j, const git_oid *ours, const git_oid *theirs,
			 git_oid *ret, json_t *out, struct err *err)
{
	const struct want_merge *w = j->arg;
	cleanup_git(commit) git_commit *a = NULL, *b = NULL;
	cleanup_git(index) git_index *index = NULL;
	git_merge_options opts;

	(void)git_merge_options_init(&opts, GIT_MERGE_OPTIONS_VERSION);
	opts.flags = GIT_MERGE_FIND_RENAMES;
	if (git_commit_lookup(&a, j->git, ours) < 0 || git_commit_lookup(&b, j->git, theirs) < 0 ||
	    git_merge_commits(&index, j->git, a, b, &opts) < 0)
		return gitlib_err(err, "cannot merge");
	if (git_index_has_conflicts(index)) {
		put_conflicts(index, out);
		return err_set(err, EEXIST, "'%s' does not merge: both sides changed the same",
			       w->branch);
	}
	return commit_merge(j, index, a, b, w->message, ret, err);
}

/* Computes the new HEAD: unchanged, their commit for a fast-forward, or a merge commit. */
static int find_result(struct repo_job *j, const git_oid *ours, const git_oid *theirs, git_oid *ret,
		       json_t *out, struct err *err)
{
	git_oid base;

	if (git_merge_base(&base, j->git, ours, theirs) < 0)
		return err_set(err, EINVAL, "the two have no commit in common");
	if (!git_oid_equal(&base, theirs) && !git_oid_equal(&base, ours))
		return merge_commits(j, ours, theirs, ret, out, err);
	*ret = git_oid_equal(&base, theirs) ? *ours : *theirs;
	return 0;
}

static int plan_merge(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_merge *w = j->arg;
	cleanup_free char *theirs_ref = xasprintf("refs/heads/%s", w->branch), *ref = NULL;
	char from[REPO_OID_LEN + 1], to[REPO_OID_LEN + 1];
	struct repo_move m = {.from = from, .to = to};
	git_oid ours, theirs, result;
	int r = repo_head_ref(j->git, &ref, &ours, err);

	if (r < 0)
		return r;
	if (!ref || git_oid_is_zero(&ours))
		return err_set(err, EINVAL, "HEAD is no branch that could be merged into");
	if (git_reference_name_to_id(&theirs, j->git, theirs_ref) < 0)
		return err_set(err, ENOENT, "there is no branch '%s'", w->branch);
	r = find_result(j, &ours, &theirs, &result, out, err);
	if (r < 0)
		return r;
	repo_put_oid(out, "from", &ours);
	repo_put_oid(out, "to", &result);
	(void)json_object_set_new(out, "ref", json_text(ref));
	(void)git_oid_tostr(from, sizeof(from), &ours);
	(void)git_oid_tostr(to, sizeof(to), &result);
	m.ref = ref;
	return repo_move_plan(j, &m, err);
}

int repo_merge(struct repo *r, const char *branch, const char *message, struct repo_oid *ret,
	       struct strv *conflicts, struct err *err)
{
	const struct want_merge want = {.branch = branch, .message = message};
	const struct repo_task task = REPO_TASK(plan_merge, &want, REPO_TASK_WRITE);
	cleanup_free char *ref = NULL, *name = NULL, *email = NULL;
	cleanup_json json_t *out = NULL;
	struct repo_oid from;
	struct repo_move m = {.from = from.hex, .to = ret->hex, .why = "ralph: merge"};
	int rc = repo_identity(r, &name, &email, err);

	if (rc == 0)
		rc = repo_work(r, &task, &out, err);
	if (rc == -EEXIST && conflicts)
		repo_answer_list(out, "conflicts", conflicts);
	if (rc == 0 &&
	    (repo_answer_oid(out, "from", &from) < 0 || repo_answer_oid(out, "to", ret) < 0))
		rc = err_set(err, EPROTO, "no commit to merge to");
	if (rc < 0)
		return rc;
	ref = repo_answer_str(out, "ref");
	m.ref = ref ? ref : "";
	return streq(from.hex, ret->hex) ? 0 : repo_move(r, &m, err);
}
