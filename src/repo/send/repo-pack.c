/* Commits on their way to another machine and back: a pack of a commit, and a branch for what came. */
#include "repo/send/repo-pack.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "repo/repo-parts.h"

struct pack_sink {
	int fd;
	uint64_t left;
	int failure;
};

static int on_bytes(void *buf, size_t size, void *arg)
{
	struct pack_sink *s = arg;

	s->failure = size > s->left ? -EFBIG : fd_write_all(s->fd, buf, size);
	s->left -= s->failure ? 0 : size;
	return s->failure;
}

static int write_pack(struct repo_job *j, json_t *out, struct err *err)
{
	const char *commit = j->arg;
	struct pack_sink sink = {.fd = j->fd, .left = REPO_SEND_MAX};
	git_packbuilder *pack = NULL;
	git_revwalk *walk = NULL;
	git_oid oid;
	int r = repo_oid_of(commit, &oid, err);

	if (r < 0)
		return r;
	if (git_packbuilder_new(&pack, j->git) < 0 || git_revwalk_new(&walk, j->git) < 0 ||
	    git_revwalk_push(walk, &oid) < 0 || git_packbuilder_insert_walk(pack, walk) < 0)
		r = gitlib_err(err, "the commit that a task starts from cannot be packed");
	if (r == 0 && git_packbuilder_foreach(pack, on_bytes, &sink) < 0 && !sink.failure)
		r = gitlib_err(err, "the commit that a task starts from cannot be packed");
	if (sink.failure)
		r = err_sys(err, -sink.failure, "cannot write the pack of a task");
	git_revwalk_free(walk);
	git_packbuilder_free(pack);
	return r;
}

int repo_pack_commit(struct repo *r, const char *commit, int fd, struct err *err)
{
	struct repo_task task = REPO_TASK(write_pack, commit, 0);

	task.fd = fd;
	return repo_work(r, &task, NULL, err);
}

struct want_point {
	const char *branch, *commit;
	bool fresh;
};

static int point(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_point *w = j->arg;
	cleanup_free char *name = xasprintf("refs/heads/%s", w->branch);
	cleanup_git(commit) git_commit *commit = NULL;
	git_reference *old = NULL, *made = NULL;
	git_oid oid;
	int r = repo_oid_of(w->commit, &oid, err);

	if (r < 0)
		return r;
	r = git_commit_lookup(&commit, j->git, &oid);
	if (r == GIT_ENOTFOUND)
		return err_set(err, ENOENT, "there is no commit %s", w->commit);
	if (r < 0)
		return gitlib_err(err, w->commit);
	if (git_reference_lookup(&old, j->git, name) == 0) {
		const git_oid *is = git_reference_target(old);
		bool same = is && git_oid_equal(is, &oid);

		r = git_branch_is_checked_out(old) == 1 && !same
			    ? err_set(err, EBUSY, "'%s' is checked out", w->branch)
		    : w->fresh && !same
			    ? err_set(err, EEXIST,
				      "there is a branch '%s' already; rename it, or merge it",
				      w->branch)
			    : 0;
		git_reference_free(old);
		if (r < 0 || same)
			return r;
	}
	r = git_reference_create(&made, j->git, name, &oid, 1, "ralph: from a worker elsewhere") < 0
		    ? gitlib_err(err, w->branch)
		    : 0;
	git_reference_free(made);
	return r;
}

int repo_branch_point(struct repo *r, const char *branch, const char *commit, bool fresh,
		      struct err *err)
{
	const struct want_point want = {.branch = branch, .commit = commit, .fresh = fresh};
	const struct repo_task task = REPO_TASK(point, &want, REPO_TASK_WRITE);

	return repo_work(r, &task, NULL, err);
}
