#include "repo/repo-snap.h"

#include <fcntl.h>
#include <git2/sys/repository.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "git/tree-path.h"
#include "repo/repo-file.h"
#include "repo/repo-move.h"

struct snap {
	struct repo_job *j;
	git_index *work, *fresh; /* in memory */
	struct buf content;
	uint64_t total;
	unsigned n_fresh, n_changed, left;
	bool strict;
	int root;
};

static int refuse(struct snap *s, const char *path, const char *why, struct err *err)
{
	cleanup_free char *shown = gitpath_shown(path, strlen(path), 200);

	s->left++;
	return s->strict ? err_set(err, EFBIG, "'%s' %s; move it away, or commit", shown, why) : 0;
}

static int put_entry(git_repository *git, git_index *index, const char *path, uint32_t mode,
		     struct buf *content, struct err *err)
{
	git_index_entry e = {.mode = mode, .path = path};

	if (git_blob_create_from_buffer(&e.id, git, content->data ? content->data : "",
					content->len) < 0 ||
	    git_index_add(index, &e) < 0)
		return gitlib_err(err, "cannot keep a file");
	return 0;
}

static int snap_entry(struct snap *s, const git_status_entry *e, struct err *err)
{
	const git_diff_delta *d = e->index_to_workdir ? e->index_to_workdir : e->head_to_index;
	const char *path = d->old_file.path ? d->old_file.path : d->new_file.path;
	bool fresh = (e->status & GIT_STATUS_WT_NEW) && !(e->status & ~GIT_STATUS_WT_NEW);
	uint32_t mode;
	int r;

	if (repo_is_ours(path))
		return 0;
	if (s->strict && (e->status & GIT_STATUS_CONFLICTED))
		return err_set(err, EBUSY, "a merge is not finished; finish it, or abort it");
	r = repo_file_read(s->root, path, &s->content, &mode);
	if (r == -ENOENT && !fresh) {
		s->n_changed++;
		return git_index_remove_bypath(s->work, path) < 0 ? gitlib_err(err, "index") : 0;
	}
	if (r == -ENOBUFS || s->total + s->content.len > REPO_SNAP_MAX)
		return refuse(s, path, "is too large to be kept", err);
	/* Nested repositories and pipes are skipped: neither git nor ralph would remove them. */
	if (r < 0)
		return fresh ? 0 : refuse(s, path, "cannot be read", err);
	s->total += s->content.len;
	*(fresh ? &s->n_fresh : &s->n_changed) += 1;
	return put_entry(s->j->git, fresh ? s->fresh : s->work, path, mode, &s->content, err);
}

struct parents {
	const git_commit *v[3];
	git_commit *own[3];
	size_t n;
};

static int commit_index(struct snap *s, git_index *index, const char *message,
			const struct parents *parents, git_commit **ret, struct err *err)
{
	cleanup_git(tree) git_tree *tree = NULL;
	cleanup_git(signature) git_signature *who = NULL;
	git_oid tree_oid, oid;
	int r = repo_signature(s->j->repo, &who, err);

	if (r < 0)
		return r;
	if (git_index_write_tree_to(&tree_oid, index, s->j->git) < 0 ||
	    git_tree_lookup(&tree, s->j->git, &tree_oid) < 0 ||
	    git_commit_create(&oid, s->j->git, NULL, who, who, NULL, message, tree, parents->n,
			      (const git_commit **)(void *)parents->v) < 0 ||
	    git_commit_lookup(ret, s->j->git, &oid) < 0)
		return gitlib_err(err, "cannot make a commit");
	return 0;
}

static void add_parent(struct parents *p, git_commit *commit)
{
	if (commit) {
		p->own[p->n] = commit;
		p->v[p->n++] = commit;
	}
}

/* Commits the index. An index with conflicts has no tree, so the one of the working tree
 * replaces it. */
static int commit_staged(struct snap *s, const struct parents *head, const char *message,
			 git_commit **ret, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;

	if (git_repository_index(&index, s->j->git) < 0)
		return gitlib_err(err, "cannot read the index");
	return commit_index(s, git_index_has_conflicts(index) ? s->work : index, message, head, ret,
			    err);
}

static int make_commits(struct snap *s, const git_oid *head, const char *message, git_oid *ret,
			struct err *err)
{
	struct parents p = {0}, none = {0};
	git_commit *c = NULL, *work = NULL;
	cleanup_free char *index_message = xasprintf("index on %s", message);
	cleanup_free char *fresh_message = xasprintf("untracked files on %s", message);
	int r = 0;

	if (!git_oid_is_zero(head) && git_commit_lookup(&c, s->j->git, head) < 0)
		r = gitlib_err(err, "cannot read HEAD");
	add_parent(&p, c);
	c = NULL;
	if (r == 0)
		r = commit_staged(s, &p, index_message, &c, err);
	add_parent(&p, c);
	c = NULL;
	if (r == 0 && s->n_fresh)
		r = commit_index(s, s->fresh, fresh_message, &none, &c, err);
	add_parent(&p, c);
	if (r == 0)
		r = commit_index(s, s->work, message, &p, &work, err);
	if (r == 0)
		*ret = *git_commit_id(work);
	git_commit_free(work);
	for (size_t i = 0; i < p.n; i++)
		git_commit_free(p.own[i]);
	return r;
}

static int start_indexes(struct snap *s, const git_oid *head, struct err *err)
{
	cleanup_git(tree) git_tree *tree = NULL;
	int r = git_oid_is_zero(head) ? 0 : gitlib_tree(s->j->git, head, &tree, err);

	if (r == 0 && (git_index_new(&s->work) < 0 || git_index_new(&s->fresh) < 0 ||
		       (tree && git_index_read_tree(s->work, tree) < 0)))
		r = gitlib_err(err, "cannot make an index");
	return r;
}

/* Compares with a commit that is not HEAD: this child's index is as that commit. */
static int use_base(struct repo_job *j, const git_oid *base, git_tree **ret, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	int r = gitlib_tree(j->git, base, ret, err);

	if (r == 0 && (git_index_new(&index) < 0 || git_index_read_tree(index, *ret) < 0 ||
		       git_repository_set_index(j->git, index) < 0))
		r = gitlib_err(err, "cannot make an index");
	return r;
}

int repo_snap(struct repo_job *j, const struct repo_snap_how *how, struct repo_snap *ret,
	      struct err *err)
{
	cleanup_git(status_list) git_status_list *list = NULL;
	cleanup_git(tree) git_tree *base = NULL;
	cleanup_free char *ref = NULL;
	cleanup_fd int root = open(j->repo->git.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct snap s = {.j = j, .strict = how->strict, .root = root};
	git_oid head;
	int r = root < 0 ? err_sys(err, errno, "cannot open '%s'", j->repo->git.root) : 0;

	*ret = (struct repo_snap){0};
	buf_init(&s.content, REPO_SNAP_FILE_MAX);
	if (r == 0)
		r = repo_head_ref(j->git, &ref, &head, err);
	if (r == 0 && how->base) {
		head = *how->base;
		r = use_base(j, &head, &base, err);
	}
	if (r == 0)
		r = start_indexes(&s, &head, err);
	if (r == 0)
		r = repo_status(j, base, &list, err);
	for (size_t i = 0; r == 0 && i < repo_status_count(list); i++)
		r = snap_entry(&s, git_status_byindex(list, i), err);
	if (r == 0 && (s.n_fresh || s.n_changed))
		r = make_commits(&s, &head, how->message, &ret->oid, err);
	ret->left = s.left;
	git_index_free(s.work);
	git_index_free(s.fresh);
	buf_done(&s.content);
	return r;
}

int repo_snap_trees(git_repository *git, const git_oid *oid, struct repo_snap_trees *ret,
		    struct err *err)
{
	struct repo_snap_trees t = {0};
	cleanup_git(commit) git_commit *c = NULL;
	git_tree **const parts[] = {&t.base, &t.index, &t.fresh};
	int r = git_commit_lookup(&c, git, oid) < 0 ? gitlib_err(err, "cannot read the stash") : 0;
	unsigned n = r == 0 ? git_commit_parentcount(c) : 0;

	if (r == 0 && (n < 2 || n > ARRAY_SIZE(parts)))
		r = err_set(err, EINVAL, "what is kept is no stash");
	if (r == 0)
		r = gitlib_tree(git, oid, &t.work, err);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = gitlib_tree(git, git_commit_parent_id(c, i), parts[i], err);
	if (r < 0) {
		repo_snap_trees_done(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void repo_snap_trees_done(struct repo_snap_trees *t)
{
	git_tree_free(t->base);
	git_tree_free(t->index);
	git_tree_free(t->work);
	git_tree_free(t->fresh);
	*t = (struct repo_snap_trees){0};
}

/* repo_keep() */

struct keep {
	const char *kind;
	const char *base; /* see struct repo_snap_how; NULL: HEAD */
	bool always;
};

int repo_keep_ref(git_repository *git, const char *kind, const char *branch, const git_oid *oid,
		  json_t *out, struct err *err)
{
	cleanup_free char *slug = repo_slug(branch);
	struct tm tm;
	time_t now = time(NULL);
	char when[32];

	(void)gmtime_r(&now, &tm);
	(void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	for (unsigned i = 0; i < 1000; i++) {
		cleanup_free char *name =
			i ? xasprintf("refs/ralph/%s/%s-%s-%u", kind, slug + strlen("ralph/"), when,
				      i)
			  : xasprintf("refs/ralph/%s/%s-%s", kind, slug + strlen("ralph/"), when);
		cleanup_git(reference) git_reference *made = NULL;
		int r = git_reference_create(&made, git, name, oid, 0, "ralph: keep");

		if (r == 0) {
			(void)json_object_set_new(out, "ref", json_string(name));
			return 0;
		}
		if (r != GIT_EEXISTS)
			return gitlib_err(err, name);
	}
	return err_set(err, EEXIST, "too much is kept in refs/ralph/%s", kind);
}

static int do_keep(struct repo_job *j, json_t *out, struct err *err)
{
	const struct keep *k = j->arg;
	struct repo_snap_how how = {.message = "what an agent left"};
	cleanup_free char *ref = NULL;
	struct repo_snap snap;
	git_oid head, base;
	int r = k->base ? repo_oid_of(k->base, &base, err) : 0;

	how.base = k->base ? &base : NULL;
	if (r == 0)
		r = repo_snap(j, &how, &snap, err);
	if (r == 0)
		r = repo_head_ref(j->git, &ref, &head, err);
	if (r < 0)
		return r;
	if (how.base)
		head = base;
	if (git_oid_is_zero(&snap.oid) && (!k->always || git_oid_is_zero(&head)))
		return 0;
	return repo_keep_ref(j->git, k->kind, ref ? ref + strlen("refs/heads/") : "detached",
			     git_oid_is_zero(&snap.oid) ? &head : &snap.oid, out, err);
}

int repo_keep(struct repo *r, const char *kind, const char *base, bool always, char **ret_ref,
	      struct err *err)
{
	const struct keep keep = {.kind = kind, .base = base, .always = always};
	const struct repo_task task = REPO_TASK(do_keep, &keep, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0)
		*ret_ref = repo_answer_str(out, "ref");
	return rc;
}
