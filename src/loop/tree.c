/* The repository of a loop: its checks before the first iteration, and the cleanup afterwards. */
#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "spec/host-env.h"

#define DIRTY_SHOWN 5

static int refuse_dirty(struct loop *l, struct err *err)
{
	cleanup_strv struct strv dirty = {0}, own = {0};
	size_t n = 0;
	int r = repo_dirty(l->repo, &dirty, err);

	if (r < 0)
		return r;
	if (l->work)
		work_own_paths(l->work, &own);
	for (size_t i = 0; i < dirty.n; i++) {
		const char *path = strlen(dirty.v[i]) > 2 ? strchr(dirty.v[i] + 1, ' ') : NULL;

		if (path && strv_has(&own, path + 1))
			continue;
		if (n++ < DIRTY_SHOWN)
			show_line(&l->show, STYLE_YELLOW, "%s: %s",
				  l->q.stash ? "put away" : "not committed", dirty.v[i]);
	}
	if (n > DIRTY_SHOWN)
		show_line(&l->show, STYLE_YELLOW, "and %zu more", n - DIRTY_SHOWN);
	if (n == 0)
		return 0;
	if (l->q.stash)
		return repo_stash(l->repo, err);
	return err_usage(err,
			 "%zu file%s of the workspace %s not as committed; commit, or use --stash "
			 "to have changes put away and brought back",
			 n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

/* True when this loop was started before and continues. */
static bool goes_on(const struct loop *l)
{
	return l->q.mode == LOOP_RESUME || l->state.intent.phase != INTENT_NONE ||
	       json_object_size(l->state.workers) > 0;
}

static char *branch_name(const struct loop *l)
{
	if (l->q.branch)
		return xstrdup(l->q.branch);
	if (goes_on(l) && l->state.branch)
		return xstrdup(l->state.branch);
	if (!l->work)
		return NULL;
	if (l->work->branch)
		return xstrdup(l->work->branch);
	if (l->work->project || l->work->description)
		return repo_slug(l->work->project ? l->work->project : l->work->description);
	return NULL;
}

/* stashed: the previous loop left the user's changes in the stash. */
static int take_branch(struct loop *l, bool stashed, struct err *err)
{
	cleanup_free char *branch = branch_name(l), *now = NULL;
	bool made = false;
	int r = repo_head(l->repo, NULL, &now, err);

	if (r < 0 || l->mode == LOOP_PLAN)
		return r;
	free(l->state.branch);
	l->state.branch = branch ? xstrdup(branch) : NULL;
	if (!branch)
		return 0;
	/* The stashed changes belong to this branch and are restored there. */
	if (now && (!l->state.home_branch || !(goes_on(l) || stashed))) {
		free(l->state.home_branch);
		l->state.home_branch = xstrdup(now);
	}
	if (!l->q.worktree && !l->state.worktree) {
		if (now && streq(now, branch))
			return 0;
		r = repo_branch_on(l->repo, branch, l->work ? l->work->base : NULL, &made, err);
		if (r == 0)
			show_line(&l->show, STYLE_NONE, "branch %s%s", branch, made ? ", new" : "");
		return r;
	}
	r = repo_worktree_add(l->repo, branch, l->work ? l->work->base : NULL, &l->root, err);
	if (r < 0)
		return r;
	free(l->state.worktree);
	l->state.worktree = xstrdup(l->root);
	return 0;
}

/* From here on, every operation applies to the tree that the agent works in. */
int tree_root(struct loop *l, struct err *err)
{
	cleanup_free char *said = NULL;
	int r = 0;

	if (!l->root) {
		l->root = xstrdup(l->q.workspace);
		l->root_fd = -1;
		return 0;
	}
	l->root_fd = open(l->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->root_fd < 0)
		return err_sys(err, errno, "cannot open '%s'", l->root);
	repo_free(l->repo);
	l->repo = NULL;
	r = repo_open(l->root, l->place.path, &l->repo, err);
	if (r == 0)
		r = repo_view_use(l->repo, l->state.view, err);
	if (r == 0)
		r = repo_recover(l->repo, &said, err);
	if (said)
		show_line(&l->show, STYLE_YELLOW, "%s", said);
	show_line(&l->show, STYLE_NONE, "worktree %s", l->root);
	return r;
}

int tree_open(struct loop *l, struct err *err)
{
	cleanup_free char *said = NULL;
	int r = repo_open(l->q.workspace, l->place.path, &l->repo, err);

	if (r == -ENOENT) {
		show_line(&l->show, STYLE_YELLOW,
			  "no repository here: nothing can be committed or put back");
		return 0;
	}
	if (r == 0)
		r = repo_recover(l->repo, &said, err);
	if (said)
		show_line(&l->show, STYLE_YELLOW, "%s", said);
	/* The view is taken once, before the first agent runs. */
	if (r == 0 && l->q.mode != LOOP_RESUME && l->state.intent.phase == INTENT_NONE) {
		json_decref(l->state.view);
		l->state.view = NULL;
	}
	if (r == 0 && !l->state.view)
		r = repo_view_take(l->repo, &l->state.view, err);
	if (r == 0)
		r = repo_view_use(l->repo, l->state.view, err);
	if (r == 0)
		r = repo_identity(l->repo, &l->git_name, &l->git_email, err);
	return r;
}

/*
 * Uncommitted files on the branch of a loop that continues are the agent's unfinished work. On any
 * other branch, outside a worktree, they are the user's, and the tree must be clean.
 */
static int must_be_clean(struct loop *l, bool *ret, struct err *err)
{
	cleanup_free char *now = NULL;
	int r = repo_head(l->repo, NULL, &now, err);

	if (r < 0)
		return r;
	*ret = l->mode != LOOP_PLAN && !l->q.worktree && !l->state.worktree &&
	       (!goes_on(l) || (l->state.branch && (!now || !streq(now, l->state.branch))));
	return 0;
}

/* ralph's own files must not be tracked. They are hidden inside the sandbox, so the first `git
 * add -A` of an agent would delete them from the repository. */
static int refuse_tracked(struct loop *l, struct err *err)
{
	static const char *const names[] = {"state", "logs", "agent", "active", "summary.json"};
	cleanup_strv struct strv paths = {0}, found = {0};
	const char *rest = l->q.workspace + strlen(repo_root(l->repo));
	int r;

	rest += *rest == '/';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		strv_pushf(&paths, "%s%s" WORK_DIR "/%s", rest, *rest ? "/" : "", names[i]);
	r = repo_tracked(l->repo, &paths, &found, err);
	if (r < 0 || found.n == 0)
		return r;
	return err_usage(err,
			 "'%s' is ralph's own and must not be in the repository; take it out with "
			 "`git rm -r --cached %s`, and commit that",
			 found.v[0], found.v[0]);
}

int tree_prepare(struct loop *l, struct err *err)
{
	bool clean = false, stashed;
	int r = 0;

	if (!l->repo)
		return 0;
	stashed = repo_has_stash(l->repo);
	r = refuse_tracked(l, err);
	if (r == 0)
		r = must_be_clean(l, &clean, err);
	if (r == 0 && clean)
		r = refuse_dirty(l, err);
	return r == 0 ? take_branch(l, stashed, err) : r;
}

/* ---- afterwards ---- */

/* A finished branch no longer needs its sandbox, nor its worktree if it is clean. A sandbox that
 * the user named is kept. */
static void clear_away(struct loop *l)
{
	cleanup_repo struct repo *home = NULL;
	cleanup_free char *kept = NULL;
	struct err err = {0};
	int r = 0;

	loop_sandbox_stop(l);
	if (!l->build.spec && !l->q.direct)
		r = loop_sandbox_build(l, &err);
	if (r == 0 && l->build.spec && !l->q.sandbox && !l->q.direct) {
		r = clear_sandbox(l, l->build.spec->name, &kept, &err);
		if (kept)
			show_line(&l->show, STYLE_NONE,
				  "the sandbox of %s is removed; what happened in it: ralph events "
				  "%s",
				  l->state.branch, kept);
	}
	if (r == 0 && !l->state.worktree)
		return;
	if (r == 0)
		r = repo_open(l->q.workspace, l->place.path, &home, &err);
	if (r == 0)
		r = repo_view_use(home, l->state.view, &err);
	if (r == 0)
		r = repo_worktree_remove(home, l->state.worktree, &err);
	if (r < 0) {
		log_warn("loop", "%s", err.msg);
		return;
	}
	show_line(&l->show, STYLE_NONE, "the worktree of %s is removed", l->state.branch);
	free(l->state.worktree);
	l->state.worktree = NULL;
}

/* Restores the user's changes on the branch where they were made. */
static int bring_back(struct loop *l, struct err *err)
{
	cleanup_strv struct strv dirty = {0};
	int r = repo_dirty(l->repo, &dirty, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < dirty.n; i++)
		if (dirty.v[i][0] != '?')
			return err_set(err, EBUSY,
				       "your changes stay stashed, as the agent's are not "
				       "committed ('%s'); they come back when the loop ends with a "
				       "clean tree",
				       dirty.v[i]);
	if (l->state.home_branch)
		r = repo_branch(l->repo, l->state.home_branch, NULL, NULL, err);
	return r == 0 ? repo_unstash(l->repo, err) : r;
}

char *tree_path(const struct loop *l)
{
	const char *path = getenv("PATH"), *root = l->root ? l->root : l->q.workspace;

	path = path ? path : "/usr/bin:/bin";
	return l->build.spec ? host_path(l->build.spec, path) : host_path_outside(&root, 1, path);
}

/* The user has to commit the marks in a tracked list; otherwise they block the next loop. */
static void tell_marks(struct loop *l)
{
	cleanup_strv struct strv dirty = {0}, own = {0};
	struct err err = {0};

	if (!l->work || repo_dirty(l->repo, &dirty, &err) < 0)
		return;
	work_own_paths(l->work, &own);
	for (size_t i = 0; i < dirty.n; i++) {
		const char *path = strlen(dirty.v[i]) > 2 ? strchr(dirty.v[i] + 1, ' ') : NULL;

		if (path && dirty.v[i][0] == 'M' && strv_has(&own, path + 1))
			show_line(&l->show, STYLE_YELLOW,
				  "%s says now what is done; commit it: git commit -m 'what is "
				  "done' -- %s",
				  path + 1, path + 1);
	}
}

void tree_finish(struct loop *l, int code)
{
	cleanup_free char *path = tree_path(l);
	struct err err = {0};

	if (!l->repo)
		return;
	if (code == LOOP_DONE && l->q.push && l->state.branch &&
	    repo_push(l->repo, NULL, l->state.branch, path, STDERR_FILENO, &err) < 0)
		log_error("loop", "%s", err.msg);
	if (code == LOOP_DONE && !l->state.worktree)
		tell_marks(l);
	if (code == LOOP_DONE && l->state.branch && l->mode != LOOP_PLAN)
		clear_away(l);
	if (!l->state.worktree && repo_has_stash(l->repo)) {
		if (bring_back(l, &err) < 0)
			log_error("loop", "%s", err.msg);
		else
			show_line(&l->show, STYLE_NONE, "your changes are back");
	}
}
