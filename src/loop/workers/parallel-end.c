/* The end of a worker: settle, clean up. */
#include "loop/workers/parallel.h"

#include "base/log.h"
#include "loop/notify/notify.h"

/* ---- clearing away ---- */

int worker_clear(struct worker *w, struct err *err)
{
	struct err why = {0};
	/* A worktree with uncommitted files stays on disk; the loop only forgets it. */
	int r = w->ops->clear(w, &why);

	/* The loop's branch has all commits of a task that is done. */
	if (r == 0 && w->task->state == TASK_DONE)
		r = repo_branch_drop(w->l->repo, w->branch, NULL, &why);
	if (r < 0)
		log_warn("loop", "%s", why.msg);
	(void)json_object_del(w->l->state.workers, w->task->id);
	w->state = WORKER_GONE;
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

/* ---- ends ---- */

int worker_accept(struct worker *w, struct err *err)
{
	return settle(w, TASK_DONE, NULL, w->commit, err);
}

int worker_reject(struct worker *w, const char *why, struct err *err)
{
	cleanup_free char *last = xasprintf("What you did %s", why);

	state_task_set(&w->l->state, w->task->id, "last", json_text(last));
	return settle(w, w->task->attempts >= w->l->limits.max_attempts ? TASK_STUCK : TASK_READY,
		      why, NULL, err);
}

int worker_leave(struct worker *w, int *ret_code, struct err *err)
{
	/* The loop itself handles limits and pauses; only other codes end it. */
	if (w->state == WORKER_LEFT && w->code != LOOP_PAUSED && w->code < 128) {
		*ret_code = w->code;
		free(w->l->stopped_by);
		w->l->stopped_by = xstrdup(w->why);
	}
	w->task->attempts = w->attempts + 1;
	return work_give_back(w->l->work, w->task, err);
}

int worker_settle(struct worker *w, struct err *err)
{
	struct loop_state *s = &w->l->state;

	if (w->code == LOOP_STUCK)
		return settle(w, TASK_STUCK, w->why, NULL, err);
	state_task_set(s, w->task->id, "question", json_text(w->why));
	notify_question(w->l, w->task->id, w->why);
	return settle(w, w->code == LOOP_BLOCKED ? TASK_BLOCKED : TASK_DECIDE, w->why, NULL, err);
}
