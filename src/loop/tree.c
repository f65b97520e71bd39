/* The repository of a loop: its checks before the first iteration, and the cleanup afterwards. */
#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/tree/kept-files.h"
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

/* The workspace may be a subdirectory of the working tree. */
static void push_in_repo(const struct loop *l, const char *path, struct strv *ret)
{
	const char *rest = l->q.workspace + strlen(repo_root(l->repo));

	rest += *rest == '/';
	strv_pushf(ret, "%s%s%s", rest, *rest ? "/" : "", path);
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
		if (r == 0 && made)
			r = repo_head(l->repo, &l->made.at, NULL, err);
		return r;
	}
	r = repo_worktree_add(l->repo, branch, l->work ? l->work->base : NULL, &l->root, &l->made,
			      err);
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

/* A kill has interrupted tree_commit_marks(). */
static int finish_marks(struct loop *l, struct err *err)
{
	struct repo_oid head = {0};
	int r = repo_head(l->repo, &head, NULL, err);

	if (r == 0)
		state_marks_made(&l->state, head.hex);
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
	return r == 0 && l->state.marks_from ? finish_marks(l, err) : r;
}

int tree_elsewhere(struct loop *l, bool *ret, struct err *err)
{
	const struct work_where at = loop_where(l);
	cleanup_(work_freep) struct work *w = NULL;
	cleanup_strv struct strv files = {0}, paths = {0}, found = {0};
	cleanup_free char *now = NULL;
	struct err ignored = {0};
	int r = l->repo && l->state.branch ? repo_head(l->repo, NULL, &now, err) : 0;

	*ret = false;
	if (r < 0 || !l->repo || !l->state.branch || l->state.worktree || l->q.worktree ||
	    (now && streq(now, l->state.branch)) ||
	    work_look(&at, l->q.tasks, &w, &ignored) < 0) /* work_open() reports it */
		return r;
	work_files(w, &files);
	for (size_t i = 0; i < files.n; i++)
		push_in_repo(l, files.v[i], &paths);
	r = repo_tracked(l->repo, &paths, &found, err);
	*ret = r == 0 && found.n > 0;
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
	static const char *const names[] = {WORK_STATE_DIR, WORK_DIR "/logs", WORK_AGENT_DIR,
					    WORK_DIR "/active", WORK_DIR "/summary.json"};
	cleanup_strv struct strv paths = {0}, found = {0};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		push_in_repo(l, names[i], &paths);
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

/* The branch and its commits stay. */
static int remove_worktree(struct loop *l, struct repo *home, struct err *err)
{
	int r = repo_worktree_remove(home, l->state.worktree, err);

	if (r < 0)
		return r;
	show_line(&l->show, STYLE_NONE, "the worktree of %s is removed", l->state.branch);
	free(take_ptr(l->state.worktree));
	return 0;
}

/* Opens the user's repository for a loop that works in a worktree. */
static int open_home(struct loop *l, struct repo **ret, struct err *err)
{
	cleanup_repo struct repo *home = NULL;
	int r = repo_open(l->q.workspace, l->place.path, &home, err);

	if (r == 0)
		r = repo_view_use(home, l->state.view, err);
	if (r == 0)
		*ret = take_ptr(home);
	return r;
}

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
		r = open_home(l, &home, &err);
	if (r == 0)
		r = remove_worktree(l, home, &err);
	if (r < 0)
		log_warn("loop", "%s", err.msg);
}

/* Switches to the user's branch. The list and progress.txt stay in the workspace, even if only the
 * loop's branch has them. */
static int go_home(struct loop *l, struct err *err)
{
	cleanup_strv struct strv files = {0};
	struct kept_files k = {0};
	int r;

	if (l->work)
		work_files(l->work, &files);
	kept_files_read(l->workspace, &files, &k);
	r = repo_branch(l->repo, l->state.home_branch, NULL, NULL, err);
	return r < 0 ? (kept_files_done(&k), r) : kept_files_put(l->workspace, &k, true, err);
}

/* The same for a worktree: it was made by this start, and the branch perhaps too. */
static int forget_worktree(struct loop *l, struct err *err)
{
	cleanup_repo struct repo *home = NULL;
	int r = open_home(l, &home, err);

	if (r == 0)
		r = remove_worktree(l, home, err);
	if (r == 0 && l->made.at.hex[0])
		r = repo_branch_drop(home, l->state.branch, l->made.at.hex, err);
	/* Without the worktree's path the next loop is not taken for one in a worktree. */
	return r < 0 ? r : state_save(&l->state, err);
}

static int forget_branch(struct loop *l, struct err *err)
{
	int r = go_home(l, err);

	return r < 0 ? r : repo_branch_drop(l->repo, l->state.branch, l->made.at.hex, err);
}

void tree_forget_branch(struct loop *l)
{
	bool in_worktree = l->made.tree && l->state.worktree;
	struct err err = {0};
	int r;

	if (!l->state.branch || (!in_worktree && (!l->made.at.hex[0] || !l->state.home_branch)))
		return;
	r = in_worktree ? forget_worktree(l, &err) : forget_branch(l, &err);
	if (r < 0)
		log_warn("loop", "%s", err.msg);
	else if (l->made.at.hex[0])
		show_line(&l->show, STYLE_NONE, "nothing was started; branch %s is removed again",
			  l->state.branch);
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
			return err_set(err, EBUSY, "the agent's changes are not committed ('%s')",
				       dirty.v[i]);
	if (l->state.home_branch)
		r = go_home(l, err);
	return r == 0 ? repo_unstash(l->repo, err) : r;
}

/* The user's changes come back, or are in git's own list of stashes. */
static void give_back(struct loop *l)
{
	struct err err = {0}, also = {0};

	if (bring_back(l, &err) == 0) {
		show_line(&l->show, STYLE_NONE, "your changes are back");
		return;
	}
	log_warn("loop", "your changes cannot be put back: %s", err.msg);
	if (repo_stash_hand_over(l->repo, &also) < 0)
		log_error("loop", "%s", also.msg);
	else
		show_line(&l->show, STYLE_YELLOW,
			  "your changes are in `git stash list`; get them with: git stash pop");
}

char *tree_path(const struct loop *l)
{
	const char *path = getenv("PATH"), *root = l->root ? l->root : l->q.workspace;

	path = path ? path : "/usr/bin:/bin";
	return l->build.spec ? host_path(l->build.spec, path) : host_path_outside(&root, 1, path);
}

static int commit_marks(struct loop *l, const char *message, struct err *err)
{
	cleanup_strv struct strv files = {0}, paths = {0};
	struct repo_oid head = {0};
	int r;

	work_files(l->work, &files);
	for (size_t i = 0; i < files.n; i++)
		push_in_repo(l, files.v[i], &paths);
	r = repo_head(l->repo, &head, NULL, err);
	if (r < 0 || !head.hex[0])
		return r;
	free(l->state.marks_from);
	l->state.marks_from = xstrdup(head.hex);
	r = state_save(&l->state, err);
	if (r == 0)
		r = repo_commit_marks(l->repo, &paths, message, &head, err);
	if (r == 0)
		state_marks_made(&l->state, head.hex[0] ? head.hex : l->state.marks_from);
	return r;
}

void tree_commit_marks(struct loop *l, const struct task *t)
{
	cleanup_free char *message =
		t ? xasprintf("%s is done\n\nMarked by ralph, whose checks passed.\n", t->id)
		  : xstrdup("Where the tasks stand\n\nMarked by ralph.\n");
	struct err err = {0};

	/* The list of a worktree's loop is in the user's tree, on a branch that is not the loop's. */
	if (!l->repo || !l->work || l->state.worktree || l->mode == LOOP_PLAN)
		return;
	if (commit_marks(l, message, &err) < 0)
		log_warn("loop", "the marks of the list are not committed: %s", err.msg);
}

void tree_push(struct loop *l)
{
	cleanup_free char *path = tree_path(l);
	struct err err = {0};

	if (l->repo && l->q.push && l->state.branch &&
	    repo_push(l->repo, NULL, l->state.branch, path, STDERR_FILENO, &err) < 0)
		log_error("loop", "%s", err.msg);
}

void tree_finish(struct loop *l, int code)
{
	if (!l->repo)
		return;
	tree_commit_marks(l, NULL);
	if (code == LOOP_DONE)
		tree_push(l);
	if (code == LOOP_DONE && l->state.branch && l->mode != LOOP_PLAN)
		clear_away(l);
	if (!l->state.worktree && repo_has_stash(l->repo))
		give_back(l);
}
