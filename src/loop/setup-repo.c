/* The repository, and the tree in it that the agent works in. */
#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"

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
			log_error("loop", "not committed: %s", dirty.v[i]);
	}
	if (n == 0)
		return 0;
	if (l->q.stash)
		return repo_stash(l->repo, err);
	return err_usage(err,
			 "%zu files of the workspace are not as they were committed; commit them, "
			 "or use --stash",
			 n);
}

static char *branch_name(const struct loop *l)
{
	if (l->q.branch)
		return xstrdup(l->q.branch);
	if (l->state.branch)
		return xstrdup(l->state.branch);
	if (!l->work)
		return NULL;
	if (l->work->branch)
		return xstrdup(l->work->branch);
	if (l->work->project || l->work->description)
		return repo_slug(l->work->project ? l->work->project : l->work->description);
	return NULL;
}

static int take_branch(struct loop *l, struct err *err)
{
	cleanup_free char *branch = branch_name(l), *now = NULL;
	bool made = false;
	int r = repo_head(l->repo, NULL, &now, err);

	if (r < 0 || !branch || l->mode == LOOP_PLAN)
		return r;
	if (!l->state.home_branch && now)
		l->state.home_branch = xstrdup(now);
	free(l->state.branch);
	l->state.branch = xstrdup(branch);
	if (!l->q.worktree && !l->state.worktree) {
		if (now && streq(now, branch))
			return 0;
		r = repo_branch(l->repo, branch, l->work ? l->work->base : NULL, &made, err);
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

/* Everything from here on is done to the tree that the agent works in. */
int loop_open_root(struct loop *l, struct err *err)
{
	cleanup_free char *state = path_join(l->q.workspace, WORK_STATE_DIR);
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
	r = repo_open(l->root, state, &l->repo, err);
	if (r == 0)
		r = repo_view_use(l->repo, l->state.view, err);
	show_line(&l->show, STYLE_NONE, "worktree %s", l->root);
	return r;
}

int loop_open_repo(struct loop *l, struct err *err)
{
	cleanup_free char *state = path_join(l->q.workspace, WORK_STATE_DIR), *said = NULL;
	int r = repo_open(l->q.workspace, state, &l->repo, err);

	if (r == -ENOENT) {
		show_line(&l->show, STYLE_YELLOW,
			  "no repository here: nothing can be committed or put back");
		return 0;
	}
	if (r == 0)
		r = repo_recover(l->repo, &said, err);
	if (said)
		show_line(&l->show, STYLE_YELLOW, "%s", said);
	/* Taken once, before the first agent runs. */
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

int loop_prepare_repo(struct loop *l, struct err *err)
{
	int r = 0;

	if (!l->repo)
		return 0;
	/* A loop that goes on finds its agent's unfinished work. */
	if (l->q.mode != LOOP_RESUME && l->mode != LOOP_PLAN &&
	    l->state.intent.phase == INTENT_NONE)
		r = refuse_dirty(l, err);
	if (r == 0)
		r = take_branch(l, err);
	return r;
}
