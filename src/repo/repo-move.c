#include "repo/repo-move.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "git/tree-path.h"

/*
 * DOC: Theory of operation
 *
 * A move sets a branch to another commit, and updates the files of the working tree. It has three
 * steps; the first and the last run in a child:
 *
 *	plan     checks that the move is allowed; keeps existing work under a reference if needed
 *	note     repo-move.json: ref, from, to, force
 *	do       reference, HEAD, files, index
 *
 * The note is removed at the end. A process that finds a note repeats the last step, which may be
 * done twice.
 */
#define NOTE "repo-move.json"

static int tree_if(git_repository *git, const char *hex, git_tree **ret, struct err *err)
{
	git_oid oid;
	int r = 0;

	if (*hex)
		r = repo_oid_of(hex, &oid, err);
	if (r == 0 && *hex)
		r = gitlib_tree(git, &oid, ret, err);
	return r;
}

/* Rewrites the index from the tree. The agent can write the index, so its cached times must not
 * decide whether a file is unchanged. */
static int distrust_index(git_repository *git, git_tree *tree, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;

	if (git_repository_index(&index, git) < 0 || git_index_read_tree(index, tree) < 0 ||
	    git_index_write(index) < 0)
		return gitlib_err(err, "cannot write the index");
	return 0;
}

struct conflicts {
	struct strv paths;
};

static int note_conflict(git_checkout_notify_t why, const char *path, const git_diff_file *baseline,
			 const git_diff_file *target, const git_diff_file *workdir, void *arg)
{
	struct conflicts *c = arg;

	if (c->paths.n < 10)
		strv_take(&c->paths, gitpath_shown(path, strlen(path), 100));
	return 0;
}

static int conflict_err(struct conflicts *c, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, 300);
	for (size_t i = 0; i < c->paths.n; i++)
		(void)buf_printf(&b, "%s'%s'", i ? ", " : "", c->paths.v[i]);
	r = err_set(err, EBUSY, "these files have changes that would be lost: %s", buf_str(&b));
	return err_hint(err, r, "commit them, or take --stash");
}

static int checkout(git_repository *git, const struct repo_move *m, bool dry, struct err *err)
{
	cleanup_git(tree) git_tree *from = NULL, *to = NULL;
	struct conflicts c = {0};
	git_checkout_options opts;
	int r = tree_if(git, m->from, &from, err);

	if (r == 0)
		r = tree_if(git, m->to, &to, err);
	if (r == 0)
		r = repo_clear_links(git, from, m->force && !dry, err);
	if (r == 0)
		r = repo_clear_links(git, to, m->force && !dry, err);
	if (r == 0 && m->force && !dry)
		r = distrust_index(git, to, err);
	if (r < 0)
		return r;
	(void)git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION);
	opts.checkout_strategy = m->force ? GIT_CHECKOUT_FORCE : GIT_CHECKOUT_SAFE;
	if (!from)
		opts.checkout_strategy |= GIT_CHECKOUT_RECREATE_MISSING;
	if (dry)
		opts.checkout_strategy |= GIT_CHECKOUT_DRY_RUN | GIT_CHECKOUT_DONT_UPDATE_INDEX |
					  GIT_CHECKOUT_DONT_WRITE_INDEX;
	opts.baseline = from;
	opts.notify_flags = GIT_CHECKOUT_NOTIFY_CONFLICT;
	opts.notify_cb = note_conflict;
	opts.notify_payload = &c;
	r = git_checkout_tree(git, (git_object *)to, &opts);
	if (r < 0)
		r = c.paths.n ? conflict_err(&c, err) : gitlib_err(err, "cannot check out");
	strv_done(&c.paths);
	return r;
}

/* True when HEAD in this git directory names the reference. */
static bool head_names(int dir, const char *ref)
{
	cleanup_fd int fd = path_open_beneath(dir, "HEAD", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf b;
	size_t n = strlen(ref);

	buf_init(&b, 4 * KiB);
	return fd >= 0 && fd_read_all(fd, &b) == 0 && b.len >= n + 5 &&
	       memcmp(b.data, "ref: ", 5) == 0 && memcmp(b.data + 5, ref, n) == 0 &&
	       (b.len == n + 5 || b.data[n + 5] == '\n');
}

/*
 * A branch that another worktree has checked out must not be moved. This does not use libgit2,
 * which would open those other worktrees to check.
 */
int repo_check_elsewhere(const struct repo *r, const char *ref, struct err *err)
{
	cleanup_free char *path = path_join(r->git.common, "worktrees");
	cleanup_fd int common = open(r->git.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool linked = !streq(r->git.dir, r->git.common);
	bool found = linked && common >= 0 && head_names(common, ref);
	DIR *d = opendir(path);
	struct dirent *de;

	while (!found && d && (de = readdir(d))) {
		cleanup_free char *own = path_join(path, de->d_name);
		cleanup_fd int dir = -1;

		if (de->d_name[0] == '.' || streq(own, r->git.dir))
			continue;
		dir = open(own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		found = dir >= 0 && head_names(dir, ref);
	}
	if (d)
		(void)closedir(d);
	return found ? err_set(err, EBUSY, "'%s' is checked out in another worktree",
			       ref + strlen("refs/heads/"))
		     : 0;
}

int repo_move_plan(struct repo_job *j, const struct repo_move *m, struct err *err)
{
	int r = repo_check_elsewhere(j->repo, m->ref, err);

	return r == 0 && !m->force ? checkout(j->git, m, true, err) : r;
}

static int do_move(struct repo_job *j, json_t *out, struct err *err)
{
	const struct repo_move *m = j->arg;
	cleanup_git(reference) git_reference *made = NULL;
	git_oid to;
	int r = repo_oid_of(m->to, &to, err);

	if (r < 0)
		return r;
	if (streq(m->ref, "HEAD")) {
		if (git_repository_set_head_detached(j->git, &to) < 0)
			return gitlib_err(err, "HEAD");
		return checkout(j->git, m, false, err);
	}
	if (git_reference_create(&made, j->git, m->ref, &to, 1, m->why) < 0)
		return gitlib_err(err, m->ref);
	if (git_repository_set_head(j->git, m->ref) < 0)
		return gitlib_err(err, "HEAD");
	return checkout(j->git, m, false, err);
}

int repo_move(struct repo *r, const struct repo_move *m, struct err *err)
{
	const struct repo_task task = REPO_TASK(do_move, m, REPO_TASK_WRITE);
	cleanup_json json_t *note =
		json_pack("{si ss ss ss ss sb}", "version", 1, "ref", m->ref, "from", m->from, "to",
			  m->to, "why", m->why, "force", (int)m->force);
	int rc;

	if (!note)
		return err_set(err, EINVAL, "'%s' is no name that can be written down", m->ref);
	rc = repo_note_write(r, NOTE, note, err);
	if (rc == 0)
		rc = repo_work(r, &task, NULL, err);
	return rc == 0 ? repo_note_remove(r, NOTE, err) : rc;
}

int repo_move_recover(struct repo *r, char **ret_done, struct err *err)
{
	cleanup_json json_t *note = NULL;
	cleanup_free char *kept = NULL;
	struct repo_move m = {.force = true};
	struct err none;
	int rc = repo_note_read(r, NOTE, &note, &none);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0) {
		*err = none;
		return rc;
	}
	rc = json_get_str(note, "ref", &m.ref, err);
	if (rc == 0)
		rc = json_get_str(note, "from", &m.from, err);
	if (rc == 0)
		rc = json_get_str(note, "to", &m.to, err);
	if (rc == 0)
		rc = json_get_str(note, "why", &m.why, err);
	if (rc == 0)
		rc = repo_note_locks(r, NOTE, err);
	/* Some files may still be old ones. Changes made since the interruption are kept under a
	 * reference. */
	if (rc == 0)
		rc = repo_keep(r, "interrupted", NULL, false, &kept, err);
	if (rc == 0)
		rc = repo_move(r, &m, err);
	if (rc == 0)
		*ret_done = xasprintf("the working tree is on '%s' now, which was interrupted%s%s",
				      streq(m.ref, "HEAD") ? m.to : m.ref + strlen("refs/heads/"),
				      kept ? "; what was there is at " : "", kept ? kept : "");
	return rc;
}

struct want_branch {
	const char *branch, *base;
	bool follow;
};

static int base_commit(git_repository *git, const char *base, git_oid *ret, struct err *err)
{
	cleanup_git(object) git_object *found = NULL, *commit = NULL;
	int r = git_revparse_single(&found, git, base);

	if (r == 0)
		r = git_object_peel(&commit, found, GIT_OBJECT_COMMIT);
	if (r < 0)
		return err_set(err, ENOENT, "'%s' is no branch, tag or commit here", base);
	*ret = *git_object_id(commit);
	return 0;
}

int repo_find_branch(git_repository *git, const char *branch, const char *base, bool follow,
		     git_oid *ret, bool *ret_made, struct err *err)
{
	cleanup_free char *ref = xasprintf("refs/heads/%s", branch), *head = NULL;
	git_oid start;
	int valid = 0, r;

	if (git_branch_name_is_valid(&valid, branch) < 0 || !valid)
		return err_usage(err, "'%s' cannot be the name of a branch", branch);
	*ret_made = git_reference_name_to_id(ret, git, ref) < 0;
	/* Only branches of ralph's own are moved forward. */
	if (!*ret_made && !(follow && strncmp(branch, "ralph/", strlen("ralph/")) == 0))
		return 0;
	r = base ? base_commit(git, base, &start, err) : repo_head_ref(git, &head, &start, err);
	if (r == 0 && git_oid_is_zero(&start))
		r = err_set(err, ENOENT,
			    "the repository has no commit yet; make a first one with `git commit`");
	/* The branch is an ancestor of the base, so it can fast-forward without losing commits. */
	if (r == 0 && (*ret_made || git_graph_descendant_of(git, &start, ret) == 1))
		*ret = start;
	return r;
}

static int plan_branch(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_branch *w = j->arg;
	cleanup_free char *ref = xasprintf("refs/heads/%s", w->branch), *head_ref = NULL;
	char from[REPO_OID_LEN + 1] = "", to[REPO_OID_LEN + 1];
	struct repo_move m = {.ref = ref, .from = from, .to = to};
	bool made = false;
	git_oid oid, head;
	int r = repo_find_branch(j->git, w->branch, w->base, w->follow, &oid, &made, err);

	if (r == 0)
		r = repo_head_ref(j->git, &head_ref, &head, err);
	if (r < 0)
		return r;
	if (!git_oid_is_zero(&head))
		(void)git_oid_tostr(from, sizeof(from), &head);
	(void)git_oid_tostr(to, sizeof(to), &oid);
	repo_put_oid(out, "from", &head);
	repo_put_oid(out, "to", &oid);
	(void)json_object_set_new(out, "made", json_boolean(made));
	(void)json_object_set_new(out, "here", json_boolean(head_ref && streq(head_ref, ref)));
	return repo_move_plan(j, &m, err);
}

static int switch_to(struct repo *r, const struct want_branch *want, bool *ret_made,
		     struct err *err)
{
	const char *branch = want->branch;
	const struct repo_task task = REPO_TASK(plan_branch, want, 0);
	cleanup_free char *ref = xasprintf("refs/heads/%s", branch);
	cleanup_json json_t *out = NULL;
	struct repo_oid from, to;
	struct repo_move m = {
		.ref = ref, .from = from.hex, .to = to.hex, .why = "ralph: switch to branch"};
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0 &&
	    (repo_answer_oid(out, "from", &from) < 0 || repo_answer_oid(out, "to", &to) < 0))
		rc = err_set(err, EPROTO, "no commit to switch to");
	if (rc == 0 && !json_is_true(json_object_get(out, "here")))
		rc = repo_move(r, &m, err);
	if (rc == 0 && ret_made)
		*ret_made = json_is_true(json_object_get(out, "made"));
	return rc;
}

int repo_branch(struct repo *r, const char *branch, const char *base, bool *ret_made,
		struct err *err)
{
	const struct want_branch want = {.branch = branch, .base = base};

	return switch_to(r, &want, ret_made, err);
}

int repo_branch_on(struct repo *r, const char *branch, const char *base, bool *ret_made,
		   struct err *err)
{
	const struct want_branch want = {.branch = branch, .base = base, .follow = true};

	return switch_to(r, &want, ret_made, err);
}

struct unwanted {
	const char *branch, *at; /* at NULL: HEAD has all its commits */
};

static bool is_wanted(git_repository *git, const struct unwanted *u, const git_oid *now,
		      const git_oid *head)
{
	if (u->at)
		return git_oid_streq(now, u->at) != 0;
	return !git_oid_equal(now, head) && git_graph_descendant_of(git, head, now) != 1;
}

static int drop_branch(struct repo_job *j, json_t *out, struct err *err)
{
	const struct unwanted *u = j->arg;
	cleanup_free char *name = xasprintf("refs/heads/%s", u->branch);
	cleanup_git(reference) git_reference *ref = NULL;
	cleanup_free char *head = NULL;
	const git_oid *now;
	git_oid at;
	int r = repo_check_elsewhere(j->repo, name, err);

	if (r == 0)
		r = repo_head_ref(j->git, &head, &at, err);
	if (r < 0)
		return r;
	if (git_reference_lookup(&ref, j->git, name) < 0)
		return gitlib_err(err, name);
	now = git_reference_target(ref);
	if (!now || is_wanted(j->git, u, now, &at) || (head && streq(head, name)))
		return err_set(err, EBUSY, "the branch '%s' is in use and stays", u->branch);
	return git_reference_delete(ref) < 0 ? gitlib_err(err, name) : 0;
}

int repo_branch_drop(struct repo *r, const char *branch, const char *at, struct err *err)
{
	const struct unwanted u = {.branch = branch, .at = at};
	const struct repo_task task = REPO_TASK(drop_branch, &u, REPO_TASK_WRITE);

	return repo_work(r, &task, NULL, err);
}

/* ---- repo_reset_to() ---- */

static int plan_reset(struct repo_job *j, json_t *out, struct err *err)
{
	const char *to = j->arg;
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_free char *ref = NULL;
	git_oid head;
	int r = tree_if(j->git, to, &tree, err);

	if (r == 0)
		r = repo_head_ref(j->git, &ref, &head, err);
	if (r == 0 && !ref)
		r = err_set(err, EINVAL, "HEAD is no branch that could be put back");
	if (r < 0)
		return r;
	repo_put_oid(out, "from", &head);
	(void)json_object_set_new(out, "ref", json_text(ref));
	return 0;
}

int repo_reset_to(struct repo *r, const char *of, const char *oid, char **ret_kept, struct err *err)
{
	const struct repo_task task = REPO_TASK(plan_reset, oid, 0);
	cleanup_free char *kept = NULL, *ref = NULL;
	cleanup_json json_t *out = NULL;
	struct repo_oid from;
	struct repo_move m = {.from = from.hex, .to = oid, .force = true, .why = "ralph: put back"};
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0 && repo_answer_oid(out, "from", &from) < 0)
		rc = err_set(err, EPROTO, "HEAD has no name");
	if (rc < 0)
		return rc;
	ref = repo_answer_str(out, "ref");
	m.ref = ref ? ref : "";
	m.from = of ? of : from.hex;
	rc = repo_keep(r, "rejected", of, !streq(m.from, oid), &kept, err);
	if (rc == 0)
		rc = repo_move(r, &m, err);
	if (rc == 0 && ret_kept)
		*ret_kept = take_ptr(kept);
	return rc;
}
