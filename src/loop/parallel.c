#include "loop/parallel.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "sandbox/live.h"

#define BATCH_MAX 16

struct batch {
	struct loop *l;
	struct worker *w;
	size_t n, running;
	bool told;
};

/* ---- starting ---- */

static int make_place(struct worker *w, struct err *err)
{
	struct loop *l = w->l;
	struct repo_oid head = {0};
	cleanup_free char *now = NULL, *slug = repo_slug(w->task->id);
	int r = repo_head(l->repo, &head, &now, err);

	if (r < 0)
		return r;
	if (!now || !head.hex[0])
		return err_usage(err, "--parallel needs a branch with a commit to start from");
	/* A branch for each attempt: an earlier one may be in the way of nothing. */
	w->branch = xasprintf("%s-%s-%u", now, strrchr(slug, '/') ? strrchr(slug, '/') + 1 : slug,
			      w->task->attempts + 1);
	r = repo_worktree_add(l->repo, w->branch, head.hex, &w->path, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(l->state.workers, w->task->id,
				  json_pack("{so so sI}", "branch", json_text(w->branch), "path",
					    json_text(w->path), "attempts",
					    (json_int_t)w->task->attempts));
	return state_save(&l->state, err);
}

static void on_control(void *arg)
{
	struct batch *b = arg;
	const struct control *c = &b->l->control;

	if (!c->stop && !b->told)
		show_line(&b->l->show, STYLE_YELLOW,
			  "pausing after these iterations; Ctrl-C once more stops them now");
	b->told = true;
	for (size_t i = 0; i < b->n; i++)
		if (!b->w[i].over && b->w[i].child.pid > 0)
			child_kill(&b->w[i].child, c->stop ? SIGTERM : SIGINT);
}

static int run_all(struct batch *b, struct err *err)
{
	struct loop *l = b->l;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = worker_start(&b->w[i], err);
	if (r < 0)
		return r;
	status_write(l, "iterating", 0);
	l->control.changed = on_control;
	l->control.arg = b;
	if (control_wants_end(&l->control))
		on_control(b);
	if (b->running > 0)
		r = ev_run(l->ev, err);
	l->control.changed = NULL;
	return r;
}

/* ---- what has become of them ---- */

/* Merged, and verified as it is then; else taken back: *ret_why says what is wrong. */
static int merge(struct worker *w, char **ret_commit, char **ret_why, struct err *err)
{
	cleanup_free char *message =
		xasprintf("Merge %s: %s", w->task->id, w->task->title ? w->task->title : "");
	cleanup_(verify_result_done) struct verify_result v = {0};
	cleanup_strv struct strv conflicts = {0};
	cleanup_free char *kept = NULL;
	struct repo_oid before = {0}, after = {0};
	struct loop *l = w->l;
	int r = repo_head(l->repo, &before, NULL, err);

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
		r = box_start(l, err);
	if (r == 0)
		r = verify_run(l, w->task, &v, err);
	box_stop(l);
	if (r < 0)
		return r;
	if (v.ok) {
		*ret_commit = xstrdup(after.hex);
		return 0;
	}
	*ret_why = xasprintf("does not verify any more once it is merged:\n%.4000s",
			     v.report ? v.report : "");
	return repo_reset_to(l->repo, before.hex, &kept, err);
}

static void remove_place(struct worker *w)
{
	struct loop *l = w->l;
	struct err err = {0};
	const struct build_input in = {
		.places = &l->q.places, .config = l->config, .path = w->path};
	struct sandbox_spec *s = spec_new();

	if (build_identity(&in, s, &err) == 0 && s->name)
		(void)live_remove(&l->q.places, s->name, true, &err);
	(void)spec_free(s);
	if (repo_worktree_remove(l->repo, w->path, &err) < 0)
		log_warn("loop", "%s", err.msg);
}

static int settle(struct worker *w, enum task_state state, const char *why, const char *commit,
		  struct err *err)
{
	struct loop *l = w->l;
	int r = work_settle(l->work, w->task, state, why, commit, err);

	(void)json_object_del(l->state.workers, w->task->id);
	if (r == 0)
		r = state_save(&l->state, err);
	show_line(&l->show, state == TASK_DONE ? STYLE_GREEN : STYLE_YELLOW, "%s: %s%s%s",
		  w->task->id, task_state_name(state), why ? ", " : "", why ? why : "");
	return r;
}

/* Of a worker that ended with 0. */
static int take_over(struct worker *w, struct err *err)
{
	cleanup_free char *commit = NULL, *why = NULL, *last = NULL;
	int r = merge(w, &commit, &why, err);

	if (r < 0)
		return r;
	if (commit) {
		r = settle(w, TASK_DONE, NULL, commit, err);
		remove_place(w);
		return r;
	}
	last = xasprintf("What you did %s", why);
	state_task_set(&w->l->state, w->task->id, "last", json_text(last));
	return settle(w, w->task->attempts >= w->l->limits.max_attempts ? TASK_STUCK : TASK_READY,
		      why, NULL, err);
}

/* It goes on with the next `ralph resume`: the row of it stays, and it is not counted yet. */
static int leave(struct worker *w, int *ret_code, struct err *err)
{
	if (w->code != LOOP_PAUSED && w->code < 128)
		*ret_code = w->code;
	return work_give_back(w->l->work, w->task, err);
}

static int finish(struct worker *w, int *ret_code, struct err *err)
{
	const struct loop *l = w->l;
	cleanup_free char *why = NULL;
	bool last = w->task->attempts >= l->limits.max_attempts;

	if (w->code == LOOP_RATE || w->code == LOOP_CREDENTIAL || w->code == LOOP_PAUSED ||
	    w->code == EXIT_RUNTIME || w->code == EXIT_USAGE || (w->code >= 128 && l->control.stop))
		return leave(w, ret_code, err);
	worker_account(w, &why);
	switch (w->code) {
	case LOOP_DONE:
		return take_over(w, err);
	case LOOP_BLOCKED:
	case LOOP_DECIDE:
		state_task_set(&w->l->state, w->task->id, "question", json_text(why));
		return settle(w, w->code == LOOP_BLOCKED ? TASK_BLOCKED : TASK_DECIDE, why, NULL,
			      err);
	case LOOP_STUCK:
		return settle(w, TASK_STUCK, why, NULL, err);
	default:
		return settle(w, last ? TASK_STUCK : TASK_READY, why, NULL, err);
	}
}

static int run_batch(struct batch *b, int *ret_code, struct err *err)
{
	int r = run_all(b, err);

	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = finish(&b->w[i], ret_code, err);
	for (size_t i = 0; i < b->n; i++)
		worker_done(&b->w[i]);
	return r;
}

int parallel_run(struct loop *l, struct task **tasks, size_t n, int *ret_code, struct err *err)
{
	struct worker w[BATCH_MAX] = {0};
	struct batch b = {.l = l, .w = w};
	int r = 0;

	*ret_code = -1;
	for (; r == 0 && b.n < n && b.n < BATCH_MAX; b.n++) {
		struct worker *x = &w[b.n];

		*x = (struct worker){.l = l, .task = tasks[b.n], .out = -1, .running = &b.running};
		x->child = (struct child){.pid = -1, .pidfd = -1};
		r = make_place(x, err);
		if (r == 0)
			r = work_begin(l->work, x->task, err);
		if (r == 0)
			show_line(&l->show, STYLE_BOLD, "%s in %s", x->task->id, x->path);
	}
	if (r == 0)
		return run_batch(&b, ret_code, err);
	for (size_t i = 0; i < b.n; i++)
		worker_done(&w[i]);
	return r;
}

/* The row of a worker that a killed or paused loop has left; false: there is nothing to go on with.
 */
static int pick_up(struct loop *l, const char *id, const json_t *row, struct worker *w,
		   struct err *err)
{
	const char *branch = json_string_value(json_object_get(row, "branch"));
	const char *path = json_string_value(json_object_get(row, "path"));
	struct stat st;

	w->task = work_task(l->work, id);
	if (!w->task || w->task->state == TASK_DONE || !branch || !path || stat(path, &st) < 0)
		return -ENOENT;
	w->branch = xstrdup(branch);
	w->path = xstrdup(path);
	/* Its attempt was counted, unless it was given back or the kill came before. */
	if (w->task->attempts == (unsigned)json_integer_value(json_object_get(row, "attempts")))
		return work_begin(l->work, w->task, err);
	w->task->state = TASK_BUSY;
	return 0;
}

int parallel_recover(struct loop *l, int *ret_code, struct err *err)
{
	struct worker w[BATCH_MAX] = {0};
	struct batch b = {.l = l, .w = w};
	const char *id;
	json_t *row;
	void *next;
	int r = 0;

	*ret_code = -1;
	json_object_foreach_safe(l->state.workers, next, id, row)
	{
		struct worker *x = &w[b.n];

		if (r < 0 || b.n == BATCH_MAX)
			break;
		*x = (struct worker){.l = l, .out = -1, .running = &b.running};
		x->child = (struct child){.pid = -1, .pidfd = -1};
		r = pick_up(l, id, row, x, err);
		if (r == 0) {
			show_line(&l->show, STYLE_BOLD, "%s goes on in %s", id, x->path);
			b.n++;
		} else if (r == -ENOENT) {
			(void)json_object_del(l->state.workers, id);
			r = 0;
		}
	}
	if (r == 0)
		return run_batch(&b, ret_code, err);
	for (size_t i = 0; i < b.n; i++)
		worker_done(&w[i]);
	return r;
}
