/* The end of a worker: merge, settle, clean up. */
#include "loop/workers/parallel.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/live.h"
#include "loop/notify/notify.h"

/* ---- clearing away ---- */

/* A worker that is done has removed its sandbox, and kept the event log in its worktree. */
static void take_events(const struct worker *w, const char *sandbox)
{
	cleanup_fd int root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int from = root < 0 ? -1
				       : path_open_beneath(root, WORK_DIR "/logs/events",
							   O_RDONLY | O_DIRECTORY, 0);
	cleanup_free char *to = xasprintf("events/%s", sandbox);

	if (from < 0)
		return;
	(void)mkdirat(w->l->logs, "events", 0700);
	(void)renameat(from, sandbox, w->l->logs, to);
}

static int clear_place(struct worker *w, struct err *err)
{
	struct loop *l = w->l;
	const struct build_input in = {
		.places = &l->q.places, .config = l->config, .path = w->path};
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	cleanup_free char *kept = NULL;
	struct stat st;
	int r = 0;

	if (lstat(w->path, &st) < 0)
		return 0;
	if (!l->q.direct && build_identity(&in, s, err) == 0 && s->name) {
		take_events(w, s->name);
		r = clear_sandbox(l, s->name, &kept, err);
	}
	return r < 0 ? r : repo_worktree_remove(l->repo, w->path, err);
}

int worker_clear(struct worker *w, struct err *err)
{
	struct err why = {0};

	/* A worktree with uncommitted files stays on disk; the loop only forgets it. */
	if (clear_place(w, &why) < 0)
		log_warn("loop", "%s", why.msg);
	(void)json_object_del(w->l->state.workers, w->task->id);
	return state_save(&w->l->state, err);
}

/* ---- settling ---- */

static int settle(struct worker *w, enum task_state state, const char *why, const char *commit,
		  struct err *err)
{
	struct loop *l = w->l;
	int r = work_settle(l->work, w->task, state, why, commit, err);

	if (r < 0)
		return r;
	if (state == TASK_DONE)
		tree_commit_marks(l, w->task);
	show_line(&l->show, state == TASK_DONE ? STYLE_GREEN : STYLE_YELLOW, "%s: %s%s%s",
		  w->task->id, task_state_name(state), why ? ", " : "", why ? why : "");
	return worker_clear(w, err);
}

/* ---- merging ---- */

/* Verifies the merge. If a check fails, the branch is reset to the head before this worker. */
static int verify_merge(struct worker *w, char **ret_why, struct err *err)
{
	cleanup_(verify_result_done) struct verify_result v = {0};
	cleanup_free char *kept = NULL;
	struct loop *l = w->l;
	int r;

	status_write(l, "verifying", 0);
	r = loop_sandbox_start(l, err);
	if (r == 0)
		r = verify_run(l, w->task, &v, err);
	loop_sandbox_stop(l);
	if (r < 0 || v.ok)
		return r;
	*ret_why = xasprintf("does not verify any more once it is merged:\n%.4000s",
			     v.report ? v.report : "");
	return repo_reset_to(l->repo, NULL, w->before, &kept, err);
}

/* Merges the worker's branch and verifies the result. On failure *ret_why holds the reason. */
static int merge(struct worker *w, char **ret_commit, char **ret_why, struct err *err)
{
	cleanup_free char *message =
		xasprintf("Merge %s: %s", w->task->id, w->task->title ? w->task->title : "");
	cleanup_strv struct strv conflicts = {0};
	struct repo_oid before = {0}, after = {0};
	struct loop *l = w->l;
	int r = 0;

	if (!w->before) {
		r = repo_head(l->repo, &before, NULL, err);
		if (r < 0)
			return r;
		w->before = xstrdup(before.hex);
		worker_note(w);
		r = state_save(&l->state, err);
	}
	if (r == 0)
		r = repo_merge(l->repo, w->branch, message, &after, &conflicts, err);
	if (r == -EEXIST) {
		*ret_why =
			xasprintf("conflicts with what was merged before it, in %s%s; its commits "
				  "are on the branch %s",
				  conflicts.n ? conflicts.v[0] : "some file",
				  conflicts.n > 1 ? " and others" : "", w->branch);
		return 0;
	}
	if (r == 0)
		r = verify_merge(w, ret_why, err);
	if (r == 0 && !*ret_why)
		*ret_commit = xstrdup(after.hex);
	return r;
}

/* Merges a worker that ended with exit code 0. */
static int take_over(struct worker *w, struct err *err)
{
	cleanup_free char *commit = NULL, *why = NULL, *last = NULL;
	int r = merge(w, &commit, &why, err);

	if (r < 0)
		return r;
	if (commit)
		return settle(w, TASK_DONE, NULL, commit, err);
	last = xasprintf("What you did %s", why);
	state_task_set(&w->l->state, w->task->id, "last", json_text(last));
	return settle(w, w->task->attempts >= w->l->limits.max_attempts ? TASK_STUCK : TASK_READY,
		      why, NULL, err);
}

/* ---- all ---- */

/* The worker continues later, so its row stays. */
static int leave(struct worker *w, const char *why, int *ret_code, struct err *err)
{
	/* The loop itself handles limits and pauses; only other codes end it. */
	if (w->code != LOOP_PAUSED && w->code != LOOP_LIMIT && w->code < 128) {
		*ret_code = w->code;
		free(w->l->stopped_by);
		w->l->stopped_by = xstrdup(why);
	}
	w->task->attempts = w->attempts + 1;
	return work_give_back(w->l->work, w->task, err);
}

int worker_finish(struct worker *w, int *ret_code, struct err *err)
{
	struct loop_state *s = &w->l->state;
	cleanup_free char *why = NULL;
	int r;

	/* The worker's time was already counted by account(), together with that of the others. */
	(void)worker_account(w, &why);
	worker_note(w);
	r = state_save(s, err);
	if (r < 0)
		return r;
	switch (w->code) {
	case LOOP_DONE:
		return take_over(w, err);
	case LOOP_BLOCKED:
	case LOOP_DECIDE:
		state_task_set(s, w->task->id, "question", json_text(why));
		notify_question(w->l, w->task->id, why);
		return settle(w, w->code == LOOP_BLOCKED ? TASK_BLOCKED : TASK_DECIDE, why, NULL,
			      err);
	case LOOP_STUCK:
		return settle(w, TASK_STUCK, why, NULL, err);
	default:
		return leave(w, why, ret_code, err);
	}
}
