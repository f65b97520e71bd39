/*
 * Commits of the host: files that ralph itself writes and that the user keeps in the repository. The
 * marks of a list would otherwise stay uncommitted, and git would refuse to switch branches.
 */
#include "repo/repo.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "repo/repo-file.h"
#include "repo/repo-parts.h"

#define MARKS_FILE_MAX (8 * MiB)
#define MARKS_MAX 8 /* files of one commit; ralph writes two */

struct marks_job {
	const struct strv *paths; /* relative to the top of the working tree */
	const char *message;
};

struct marks {
	git_tree_update v[MARKS_MAX];
	size_t n;
};

/* Adds a file that HEAD has with other bytes. A file that is gone or is no regular one stays as it
 * is in HEAD. */
static int add_file(struct repo_job *j, int root, git_tree *head, const char *path, struct marks *m,
		    struct err *err)
{
	git_tree_entry *e = NULL;
	cleanup_buf struct buf b;
	uint32_t mode = 0;
	git_oid oid;
	int r = 0;

	buf_init(&b, MARKS_FILE_MAX);
	if (m->n == MARKS_MAX || git_tree_entry_bypath(&e, head, path) < 0)
		return 0;
	if (git_tree_entry_type(e) == GIT_OBJECT_BLOB &&
	    git_tree_entry_filemode(e) != GIT_FILEMODE_LINK &&
	    repo_file_read(root, path, &b, &mode) == 0 && mode != 0120000) {
		r = git_blob_create_from_buffer(&oid, j->git, buf_str(&b), b.len);
		if (r == 0 && !git_oid_equal(&oid, git_tree_entry_id(e)))
			m->v[m->n++] = (git_tree_update){GIT_TREE_UPDATE_UPSERT, oid,
							 git_tree_entry_filemode(e), path};
	}
	git_tree_entry_free(e);
	return r < 0 ? gitlib_err(err, path) : 0;
}

/* The index goes first: after a kill in between, the next call makes the commit. */
static int stage(git_repository *git, const struct marks *m, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	int r = git_repository_index(&index, git);

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		const git_index_entry entry = {
			.path = m->v[i].path, .mode = m->v[i].filemode, .id = m->v[i].id};

		r = git_index_add(index, &entry);
	}
	if (r == 0)
		r = git_index_write(index);
	return r < 0 ? gitlib_err(err, "cannot write the index") : 0;
}

static int commit(struct repo_job *j, const char *ref, const git_oid *head, git_tree *tree,
		  const struct marks *m, git_oid *ret, struct err *err)
{
	const struct marks_job *want = j->arg;
	cleanup_git(signature) git_signature *who = NULL;
	cleanup_git(commit) git_commit *parent = NULL;
	cleanup_git(tree) git_tree *new = NULL;
	const git_commit *parents[1];
	git_oid oid;
	int r = repo_signature(j->repo, &who, err);

	if (r < 0)
		return r;
	if (git_tree_create_updated(&oid, j->git, tree, m->n, m->v) < 0 ||
	    git_tree_lookup(&new, j->git, &oid) < 0 || git_commit_lookup(&parent, j->git, head) < 0)
		return gitlib_err(err, "cannot commit the marks");
	parents[0] = parent;
	if (git_commit_create(ret, j->git, ref, who, who, NULL, want->message, new, 1, parents) < 0)
		return gitlib_err(err, "cannot commit the marks");
	return 0;
}

static int commit_marks(struct repo_job *j, json_t *out, struct err *err)
{
	const struct marks_job *want = j->arg;
	cleanup_fd int root = open(j->repo->git.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_free char *ref = NULL;
	struct marks m = {0};
	git_oid head;
	int r = repo_head_ref(j->git, &ref, &head, err);

	/* Without a branch there is nothing that would keep the commit. */
	if (r < 0 || !ref || git_oid_is_zero(&head))
		return r;
	r = gitlib_tree(j->git, &head, &tree, err);
	for (size_t i = 0; r == 0 && i < want->paths->n; i++)
		r = add_file(j, root, tree, want->paths->v[i], &m, err);
	if (r == 0 && m.n > 0)
		r = stage(j->git, &m, err);
	if (r == 0 && m.n > 0)
		r = commit(j, ref, &head, tree, &m, &head, err);
	if (r == 0)
		repo_put_oid(out, "head", &head);
	return r;
}

int repo_commit_marks(struct repo *r, const struct strv *paths, const char *message,
		      struct repo_oid *ret, struct err *err)
{
	const struct marks_job want = {.paths = paths, .message = message};
	const struct repo_task task = REPO_TASK(commit_marks, &want, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	*ret = (struct repo_oid){0};
	if (rc == 0 && json_object_get(out, "head"))
		(void)repo_answer_oid(out, "head", ret);
	return rc;
}
