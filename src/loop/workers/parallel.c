#include "loop/workers/parallel.h"

#include <signal.h>
#include <string.h>

#include "base/log.h"

#define DEATHS_MAX 3 /* deaths of one worker in a batch */

struct batch {
	struct loop *l;
	struct worker *w;
	size_t n, running;
	bool told;
};

/* ---- rows ---- */

/* True when this exit code ends the worker's task, whatever remains of the limits. */
static bool is_final(int code)
{
	return code == LOOP_DONE || code == LOOP_BLOCKED || code == LOOP_DECIDE ||
	       code == LOOP_STUCK;
}

void worker_note(const struct worker *w)
{
	json_t *row = json_pack(
		"{so sI sI sI sI sI sI so*}", "branch", json_text(w->branch), "attempts",
		(json_int_t)w->attempts, "iterations", (json_int_t)w->taken.iterations, "micro_usd",
		(json_int_t)w->taken.micro_usd, "active_ms", (json_int_t)w->taken.active_ms,
		"tokens", (json_int_t)w->taken_tokens, "waited", (json_int_t)w->taken_waited,
		"before", w->before ? json_text(w->before) : NULL);

	if (w->over && is_final(w->code))
		(void)json_object_set_new(row, "code", json_integer(w->code));
	(void)json_object_set_new(w->l->state.workers, w->task->id, row);
}

static uint64_t number_of(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

static struct worker *add_worker(struct batch *b, struct task *t)
{
	struct worker *w = &b->w[b->n++];

	*w = (struct worker){.l = b->l, .task = t, .out = -1, .running = &b->running};
	w->child = (struct child){.pid = -1, .pidfd = -1};
	return w;
}

/* Creates or finds the branch and the worktree. */
static int make_place(struct worker *w, struct err *err)
{
	struct repo_oid head = {0};
	int r = repo_head(w->l->repo, &head, NULL, err);

	if (r == 0)
		r = repo_worktree_add(w->l->repo, w->branch, head.hex, &w->path, err);
	if (r == 0)
		r = work_begin(w->l->work, w->task, err);
	return r;
}

static int new_worker(struct batch *b, struct task *t, struct err *err)
{
	struct worker *w = add_worker(b, t);
	struct loop_state *s = &b->l->state;
	cleanup_free char *now = NULL, *slug = repo_slug(t->id);
	uint64_t number = state_task_uint(s, t->id, "branches") + 1;
	struct repo_oid head = {0};
	int r = repo_head(b->l->repo, &head, &now, err);

	if (r < 0)
		return r;
	if (!now || !head.hex[0])
		return err_usage(err, "--parallel needs a branch with a commit to start from");
	/* Each attempt gets a new branch, which starts from the current head of the project. */
	w->branch = xasprintf("%s-%s-%llu", now, strrchr(slug, '/') ? strrchr(slug, '/') + 1 : slug,
			      (unsigned long long)number);
	w->attempts = t->attempts;
	state_task_set(s, t->id, "branches", json_integer((json_int_t)number));
	worker_note(w);
	r = state_save(s, err);
	if (r == 0)
		r = make_place(w, err);
	if (r == 0)
		show_line(&b->l->show, STYLE_BOLD, "%s in %s", t->id, w->path);
	return r;
}

/* ---- running ---- */

static void on_control(void *arg)
{
	struct batch *b = arg;
	const struct control *c = &b->l->control;

	if (!c->stop && !b->told)
		show_line(&b->l->show, STYLE_YELLOW,
			  "pausing after these iterations; Ctrl-C once more stops them now");
	b->told = true;
	for (size_t i = 0; i < b->n; i++)
		if (b->w[i].runs && !b->w[i].over)
			child_kill(&b->w[i].child, c->stop ? SIGTERM : SIGINT);
}

/* True when another start of the worker would change nothing. */
static bool has_ended(const struct worker *w)
{
	return w->over && w->code != LOOP_LIMIT;
}

/* Divides the remainder of the loop's limits among the workers that still have to run, and
 * returns their number. With fewer iterations than workers, the last workers wait. */
static size_t share_out(struct batch *b)
{
	const struct loop_limits *m = &b->l->limits;
	const struct loop_used used = loop_used(b->l);
	const struct loop_used left = limits_left(m, &used);
	size_t n = 0, i = 0;

	for (size_t k = 0; k < b->n; k++)
		n += !has_ended(&b->w[k]);
	if (m->iterations && left.iterations < n)
		n = (size_t)left.iterations;
	if ((m->micro_usd && left.micro_usd == 0) || (m->duration_ms && left.active_ms == 0))
		n = 0;
	for (size_t k = 0; k < b->n; k++) {
		struct worker *w = &b->w[k];

		w->runs = !has_ended(w) && i < n;
		if (!w->runs)
			continue;
		w->share = (struct loop_used){
			.iterations = left.iterations / n + (i < left.iterations % n),
			.micro_usd = left.micro_usd / n ? left.micro_usd / n : 1,
			.active_ms = left.active_ms,
		};
		i++;
	}
	return n;
}

static int run_once(struct batch *b, struct err *err)
{
	struct loop *l = b->l;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n; i++)
		if (b->w[i].runs)
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

/* Adds the usage of the workers to the loop's, in one write. They ran at the same time, so only
 * the longest time counts. */
static int account(struct batch *b, struct err *err)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < b->n; i++) {
		cleanup_free char *why = NULL;
		uint64_t ms;

		if (!b->w[i].runs)
			continue;
		ms = worker_account(&b->w[i], &why);
		longest = ms > longest ? ms : longest;
		worker_note(&b->w[i]);
	}
	b->l->state.active_ms += longest;
	return state_save(&b->l->state, err);
}

/* A killed worker continues from its journal; after DEATHS_MAX kills it fails. */
static void judge_deaths(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct worker *w = &b->w[i];

		if (!w->runs || w->code <= 128 || b->l->control.stop)
			continue;
		show_line(&b->l->show, STYLE_RED, "the worker of %s was ended by signal %d",
			  w->task->id, w->code - 128);
		w->code = ++w->deaths < DEATHS_MAX ? LOOP_LIMIT : EXIT_RUNTIME;
	}
}

/* Runs until all workers have ended, a limit is reached, or the user asks for an end. */
static int run_all(struct batch *b, struct err *err)
{
	int r = 0;

	while (r == 0 && !control_wants_end(&b->l->control) && share_out(b) > 0) {
		r = run_once(b, err);
		if (r == 0)
			r = account(b, err);
		if (r == 0)
			judge_deaths(b);
		for (size_t i = 0; i < b->n; i++)
			worker_stop(&b->w[i]);
	}
	return r;
}

static int run_batch(struct batch *b, int *ret_code, struct err *err)
{
	int r = run_all(b, err);

	for (size_t i = 0; r == 0 && i < b->n; i++) {
		/* A worker that got no share waits, as does a worker that has used up its share. */
		if (!b->w[i].over)
			b->w[i].code = LOOP_LIMIT;
		r = worker_finish(&b->w[i], ret_code, err);
	}
	return r;
}

static void end_batch(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		worker_done(&b->w[i]);
}

int parallel_run(struct loop *l, struct task **tasks, size_t n, int *ret_code, struct err *err)
{
	struct worker w[PARALLEL_MAX] = {0};
	struct batch b = {.l = l, .w = w};
	int r = 0;

	*ret_code = -1;
	while (r == 0 && b.n < n && b.n < PARALLEL_MAX)
		r = new_worker(&b, tasks[b.n], err);
	if (r == 0)
		r = run_batch(&b, ret_code, err);
	end_batch(&b);
	return r;
}

/* ---- going on ---- */

static void read_row(struct worker *w, const json_t *row)
{
	const char *before = json_string_value(json_object_get(row, "before"));

	w->branch = xstrdup(json_string_value(json_object_get(row, "branch")));
	w->attempts = (unsigned)number_of(row, "attempts");
	w->before = before ? xstrdup(before) : NULL;
	w->taken = (struct loop_used){number_of(row, "iterations"), number_of(row, "micro_usd"),
				      number_of(row, "active_ms")};
	w->taken_tokens = number_of(row, "tokens");
	w->taken_waited = number_of(row, "waited");
	w->code = (int)number_of(row, "code");
	w->over = json_object_get(row, "code") != NULL;
}

/* Resumes a worker whose row was left by a killed, paused or limited loop. */
static int pick_up(struct batch *b, struct task *t, const json_t *row, struct err *err)
{
	struct worker *w = add_worker(b, t);
	int r;

	read_row(w, row);
	/* The task was settled, but the worker was not removed in time. */
	if (t->state != TASK_READY && t->state != TASK_BUSY) {
		w->path = repo_worktree_path(b->l->repo, w->branch);
		r = worker_clear(w, err);
		worker_done(w);
		b->n--;
		return r;
	}
	t->attempts = w->attempts;
	r = make_place(w, err);
	if (r == 0)
		show_line(&b->l->show, STYLE_BOLD, "%s goes on in %s", t->id, w->path);
	return r;
}

int parallel_recover(struct loop *l, int *ret_code, struct err *err)
{
	struct worker w[PARALLEL_MAX] = {0};
	struct batch b = {.l = l, .w = w};
	cleanup_json json_t *rows = json_copy(l->state.workers);
	const char *id;
	json_t *row;
	int r = 0;

	*ret_code = -1;
	json_object_foreach (rows, id, row) {
		struct task *t = work_task(l->work, id);

		if (r < 0 || b.n == PARALLEL_MAX)
			break;
		if (!t || !json_is_string(json_object_get(row, "branch")))
			(void)json_object_del(l->state.workers, id);
		else
			r = pick_up(&b, t, row, err);
	}
	if (r == 0)
		r = run_batch(&b, ret_code, err);
	end_batch(&b);
	return r;
}
