#include "repo/repo-move.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

/*
 * A worktree is REPO-worktrees/NAME next to the repository, with .git/worktrees/NAME. ralph creates
 * these files itself: libgit2 would open all other worktrees, outside the confined paths, to see
 * whether one has the branch. repo-worktree.json exists while a worktree is being created or
 * removed; after a kill, both parts are removed.
 */
#define NOTE "repo-worktree.json"
#define NAME_MAX_LEN 100

static const char keeps[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/*
 * "ralph/x y" → "ralph+x-y-1a2b3c4d". '+' stands only for '/'. Any other replaced character adds
 * the hash, so that two branches never share a name.
 */
static char *name_of(const char *branch)
{
	char name[NAME_MAX_LEN + 1];
	uint32_t hash = 2166136261U;
	bool changed = strlen(branch) > NAME_MAX_LEN || branch[0] == '.' || branch[0] == '-';
	size_t n = 0;

	for (const char *p = branch; *p; p++) {
		bool keep = strchr(keeps, *p) != NULL;

		hash = (hash ^ (unsigned char)*p) * 16777619U;
		changed = changed || (!keep && *p != '/');
		if (n < NAME_MAX_LEN)
			name[n++] = *p == '/' ? '+' : keep ? *p : '-';
	}
	name[n] = '\0';
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
	return changed ? xasprintf("%s+-%08x", name, hash) : xstrdup(name);
}

/* Returns the directory next to the main working tree, also when called from a worktree. */
static char *place_of(const struct repo *r)
{
	cleanup_free char *main_tree = streq(path_base(r->git.common), ".git")
					       ? path_dir(r->git.common)
					       : xstrdup(r->git.root);

	return xasprintf("%s-worktrees", main_tree);
}

struct want_worktree {
	const char *branch, *base, *name, *path, *place;
};

static int prepare(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_worktree *w = j->arg;
	cleanup_free char *ref = xasprintf("refs/heads/%s", w->branch), *here = NULL;
	cleanup_git(reference) git_reference *made_ref = NULL;
	bool made = false;
	git_oid oid, head;
	int r = repo_find_branch(j->git, w->branch, w->base, true, &oid, &made, err);

	if (r == 0)
		r = repo_head_ref(j->git, &here, &head, err);
	if (r == 0 && here && streq(here, ref))
		r = err_set(err, EBUSY, "'%s' is checked out in '%s'", w->branch,
			    j->repo->git.root);
	if (r == 0)
		r = repo_check_elsewhere(j->repo, ref, err);
	if (r == 0 && git_reference_create(&made_ref, j->git, ref, &oid, 1,
					   made ? "ralph: new branch" : "ralph: worktree") < 0)
		r = gitlib_err(err, ref);
	if (r == 0)
		repo_put_oid(out, "made_at", made ? &oid : &(git_oid){0});
	return r;
}

/* Creates or opens name below dir; the caller closes it. */
static int make_dir(int dir, const char *name, bool fresh)
{
	int fd;

	if (mkdirat(dir, name, 0755) < 0 && (fresh || errno != EEXIST))
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int put_line(int dir, const char *name, char *line)
{
	int r = path_write_atomic(dir, name, line, strlen(line), 0644, 0);

	free(line);
	return r;
}

static int link_up(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_worktree *w = j->arg;
	const char *common = j->repo->git.common;
	cleanup_fd int git = open(common, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int all = git < 0 ? -errno : make_dir(git, "worktrees", false);
	cleanup_fd int admin = all < 0 ? all : make_dir(all, w->name, true);
	cleanup_fd int place = open(w->place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int tree = place < 0 ? -errno : make_dir(place, w->name, true);
	int r = admin < 0 ? admin : tree < 0 ? tree : 0;

	if (r == 0)
		r = put_line(admin, "commondir", xstrdup("../..\n"));
	if (r == 0)
		r = put_line(admin, "gitdir", xasprintf("%s/.git\n", w->path));
	if (r == 0)
		r = put_line(admin, "HEAD", xasprintf("ref: refs/heads/%s\n", w->branch));
	if (r == 0)
		r = put_line(tree, ".git", xasprintf("gitdir: %s/worktrees/%s\n", common, w->name));
	return r < 0 ? err_sys(err, -r, "cannot make the worktree '%s'", w->path) : 0;
}

/* Checks out all files of HEAD into an empty tree. */
static int fill(struct repo_job *j, json_t *out, struct err *err)
{
	git_checkout_options opts;

	(void)git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION);
	opts.checkout_strategy = GIT_CHECKOUT_FORCE;
	return git_checkout_head(j->git, &opts) < 0 ? gitlib_err(err, "cannot check out") : 0;
}

/* Opens the worktree as a repository, with the same view. */
static int open_other(const struct repo *r, const char *path, struct repo **ret, struct err *err)
{
	cleanup_repo struct repo *other = NULL;
	int rc = repo_open(path, r->state, &other, err);

	if (rc < 0)
		return rc;
	if (!streq(other->git.root, path) || !streq(other->git.common, r->git.common) ||
	    streq(other->git.dir, other->git.common))
		return err_set(err, EINVAL, "'%s' is no worktree of this repository", path);
	other->view = json_incref(r->view);
	*ret = take_ptr(other);
	return 0;
}

/* True when the worktree for this branch already exists. */
static bool is_there(const struct repo *r, const struct want_worktree *w)
{
	cleanup_repo struct repo *other = NULL;
	struct err ignored;

	return open_other(r, w->path, &other, &ignored) == 0 && other->git.branch &&
	       streq(other->git.branch, w->branch);
}

static int remove_both(const struct repo *r, const char *name, struct err *err)
{
	cleanup_free char *place = place_of(r);
	cleanup_free char *admins = path_join(r->git.common, "worktrees");
	cleanup_fd int trees = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int dir = open(admins, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = trees < 0 ? 0 : path_remove_tree(trees, name, err);

	if (rc == 0 && dir >= 0)
		rc = path_remove_tree(dir, name, err);
	/* rmdir removes these directories only if they are empty. */
	(void)unlinkat(AT_FDCWD, place, AT_REMOVEDIR);
	(void)unlinkat(AT_FDCWD, admins, AT_REMOVEDIR);
	return rc;
}

static int write_note(const struct repo *r, const char *name, struct err *err)
{
	cleanup_json json_t *note = json_pack("{si ss}", "version", 1, "name", name);

	return repo_note_write(r, NOTE, note, err);
}

static int make_worktree(struct repo *r, const struct want_worktree *w, struct err *err)
{
	struct repo_task link = REPO_TASK(link_up, w, REPO_TASK_WRITE);
	const struct repo_task files = REPO_TASK(fill, NULL, REPO_TASK_WRITE);
	cleanup_repo struct repo *other = NULL;
	int rc = path_mkdirs(w->place, 0755, err);

	link.also = w->place;
	if (rc == 0)
		rc = repo_work(r, &link, NULL, err);
	if (rc == 0)
		rc = open_other(r, w->path, &other, err);
	if (rc == 0)
		rc = repo_work(other, &files, NULL, err);
	return rc == 0 ? repo_note_remove(r, NOTE, err) : rc;
}

/* A directory of that name that is not a worktree of the branch belongs to the user. */
static int check_free(const struct repo *r, const struct want_worktree *w, struct err *err)
{
	cleanup_free char *admin = xasprintf("%s/worktrees/%s", r->git.common, w->name);
	struct stat st;

	if (lstat(w->path, &st) == 0)
		return err_set(err, EEXIST,
			       "'%s' is in the way and no worktree of '%s'; move it away", w->path,
			       w->branch);
	if (lstat(admin, &st) == 0)
		return err_set(err, EEXIST,
			       "git knows a worktree '%s' that is gone; say `git worktree prune`",
			       w->name);
	return 0;
}

/* The note comes before the branch: a kill may leave the lock of the branch's reference. */
static int make_branch(struct repo *r, const struct want_worktree *w, struct repo_oid *ret_made_at,
		       struct err *err)
{
	const struct repo_task task = REPO_TASK(prepare, w, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL;
	int rc = write_note(r, w->name, err);

	if (rc < 0)
		return rc;
	rc = repo_work(r, &task, &out, err);
	if (rc < 0)
		(void)repo_note_remove(r, NOTE, &(struct err){0});
	else if (repo_answer_oid(out, "made_at", ret_made_at) < 0)
		rc = err_set(err, EPROTO, "the branch '%s' was made, and it is not known where",
			     w->branch);
	return rc;
}

int repo_worktree_add(struct repo *r, const char *branch, const char *base, char **ret_path,
		      struct repo_made *ret_made, struct err *err)
{
	cleanup_free char *name = name_of(branch), *place = place_of(r);
	cleanup_free char *path = path_join(place, name);
	const struct want_worktree want = {
		.branch = branch, .base = base, .name = name, .path = path, .place = place};
	struct repo_made made = {0};
	int rc = 0;

	if (!r->view)
		rc = repo_view_take(r, &r->view, err);
	if (rc == 0 && !is_there(r, &want)) {
		rc = check_free(r, &want, err);
		if (rc == 0)
			rc = make_branch(r, &want, &made.at, err);
		if (rc == 0)
			rc = make_worktree(r, &want, err);
		made.tree = true;
	}
	if (rc < 0)
		return rc;
	*ret_path = take_ptr(path);
	if (ret_made)
		*ret_made = made;
	return 0;
}

char *repo_worktree_path(const struct repo *r, const char *branch)
{
	cleanup_free char *name = name_of(branch), *place = place_of(r);

	return path_join(place, name);
}

/* Finds unfinished work that the list of uncommitted files does not show. */
static int look_finished(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_free char *ref = NULL;
	git_oid head;
	int r = repo_head_ref(j->git, &ref, &head, err);

	if (r == 0 && !ref)
		r = err_set(err, EBUSY, "'%s' has no branch checked out: its commits would be lost",
			    j->repo->git.root);
	if (r == 0 && git_repository_state(j->git) != GIT_REPOSITORY_STATE_NONE)
		r = err_set(err, EBUSY, "'%s' has a merge or the like that is not finished",
			    j->repo->git.root);
	return r;
}

int repo_worktree_remove(struct repo *r, const char *path, struct err *err)
{
	const struct repo_task task = REPO_TASK(look_finished, NULL, 0);
	cleanup_free char *place = place_of(r), *dir = path_dir(path);
	cleanup_strv struct strv dirty = {0};
	cleanup_repo struct repo *other = NULL;
	int rc = streq(dir, place)
			 ? 0
			 : err_set(err, EINVAL, "'%s' is no worktree that ralph made", path);

	if (rc == 0 && !r->view)
		rc = repo_view_take(r, &r->view, err);
	if (rc == 0)
		rc = open_other(r, path, &other, err);
	if (rc == 0)
		rc = repo_work(other, &task, NULL, err);
	if (rc == 0)
		rc = repo_dirty(other, &dirty, err);
	if (rc == 0 && dirty.n)
		rc = err_set(err, EBUSY, "'%s' has uncommitted changes ('%s'%s) and stays", path,
			     dirty.v[0], dirty.n > 1 ? ", and others" : "");
	if (rc == 0)
		rc = write_note(r, path_base(path), err);
	if (rc == 0)
		rc = remove_both(r, path_base(path), err);
	return rc == 0 ? repo_note_remove(r, NOTE, err) : rc;
}

int repo_worktree_recover(struct repo *r, char **ret_done, struct err *err)
{
	cleanup_json json_t *note = NULL;
	const char *name = NULL;
	struct err none;
	int rc = repo_note_read(r, NOTE, &note, &none);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0) {
		*err = none;
		return rc;
	}
	rc = json_get_str(note, "name", &name, err);
	if (rc == 0 && (!*name || strchr(name, '/') || name[0] == '.'))
		rc = err_set(err, EINVAL, "'%s' is no worktree", name);
	if (rc == 0)
		rc = repo_note_locks(r, NOTE, err);
	if (rc == 0)
		rc = remove_both(r, name, err);
	if (rc == 0)
		rc = repo_note_remove(r, NOTE, err);
	if (rc == 0)
		*ret_done = xasprintf("the worktree '%s' was half there and is removed", name);
	return rc;
}
