#include "loop/workers/parallel.h"

#include <signal.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/notify/notify.h"
#include "loop/placed/placed.h"

#define DEATHS_MAX 3 /* of one worker */

struct pool {
	struct loop *l;
	struct worker **w; /* in the order of their start */
	size_t n, max, slots;
	const char *base;      /* see pool_set_base() */
	struct ev_defer serve; /* a worker has ended */
	struct ev_timer paced; /* the provider takes more */
	bool waits;	       /* for the end of a worker, not for that of a command */
	bool ran;	       /* there was a worker */
	bool told;
	bool drains; /* no worker is started any more */
	int failure;
	struct err err; /* of the failure */
};

static size_t count(const struct pool *p, enum worker_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->w[i]->state == state;
	return n;
}

void pool_set_base(struct pool *p, const char *base)
{
	p->base = base;
}

/* ---- workers ---- */

static struct worker *add_worker(struct pool *p, struct task *t)
{
	struct worker *w = xcalloc(1, sizeof(*w));

	*w = (struct worker){.l = p->l, .pool = p, .task = t, .out = -1, .ops = &worker_local};
	w->child = (struct child){.pid = -1, .pidfd = -1};
	p->w[p->n++] = w;
	p->ran = true;
	return w;
}

/* Removes the workers that are finished. No event of theirs is waiting to be handled. */
static void drop_gone(struct pool *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->w[i]->state != WORKER_GONE) {
			p->w[n++] = p->w[i];
			continue;
		}
		worker_done(p->w[i]);
		free(p->w[i]);
	}
	p->n = n;
}

static int make_place(struct worker *w, const char *head, struct err *err)
{
	int r = w->ops->make(w, head, err);

	return r < 0 ? r : work_begin(w->l->work, w->task, err);
}

/* The caller saves the row and makes its place. */
static int new_worker(struct pool *p, struct task *t, struct err *err)
{
	struct loop_state *s = &p->l->state;
	cleanup_free char *now = NULL, *slug = repo_slug(t->id);
	uint64_t number = state_task_uint(s, t->id, "branches") + 1;
	struct repo_oid head = {0};
	struct worker *w;
	int r = repo_head(p->l->repo, &head, &now, err);

	if (r < 0)
		return r;
	if (!now || !head.hex[0])
		return err_usage(err, "--parallel needs a branch with a commit to start from");
	w = add_worker(p, t);
	/* Each attempt gets a new branch, which starts from the verified head of the project. */
	w->branch = xasprintf("%s-%s-%llu", now, strrchr(slug, '/') ? strrchr(slug, '/') + 1 : slug,
			      (unsigned long long)number);
	w->attempts = t->attempts;
	if (p->l->placement) {
		w->ops = &worker_placed;
		w->place = xstrdup(p->l->placement->name);
		w->base = xstrdup(p->base ? p->base : head.hex);
	}
	state_task_set(s, t->id, "branches", json_integer((json_int_t)number));
	worker_note(w);
	return 0;
}

static int make_new(struct worker *w, struct err *err)
{
	struct repo_oid head = {0};
	int r = repo_head(w->l->repo, &head, NULL, err);

	if (r == 0)
		r = w->ops->make(w, w->pool->base ? w->pool->base : head.hex, err);
	if (r == 0)
		show_line(&w->l->show, STYLE_BOLD, "%s %s %s", w->task->id, w->path ? "in" : "on",
			  w->path ? w->path : w->place);
	return r;
}

/* Continues with a worker whose row was left by a killed, paused or limited loop. */
static int pick_up(struct pool *p, struct task *t, const json_t *row, struct err *err)
{
	struct worker *w = add_worker(p, t);
	struct repo_oid head = {0};
	int r;

	worker_read_row(w, row);
	if (w->place && p->l->placement)
		w->ops = &worker_placed;
	/* The task was settled, but the worker was not removed in time. */
	if (t->state != TASK_READY && t->state != TASK_BUSY)
		return worker_clear(w, err);
	t->attempts = w->attempts;
	r = repo_head(p->l->repo, &head, NULL, err);
	if (r == 0)
		r = make_place(w, head.hex, err);
	if (r < 0)
		return r;
	w->began = p->l->state.active_ms;
	if (w->state == WORKER_FINAL && w->ops == &worker_local)
		w->ops->account(w);
	else if (w->ops == &worker_placed)
		r = placed_pick_up(w, err);
	show_line(&p->l->show, STYLE_BOLD, "%s goes on %s %s", t->id, w->path ? "in" : "on",
		  w->path ? w->path : w->place);
	return r;
}

static int pick_up_all(struct pool *p, struct err *err)
{
	struct loop *l = p->l;
	cleanup_json json_t *rows = json_copy(l->state.workers);
	const char *id;
	json_t *row;
	int r = 0;

	json_object_foreach (rows, id, row) {
		struct task *t = work_task(l->work, id);

		if (r < 0)
			break;
		if (!t || !json_is_string(json_object_get(row, "branch")))
			(void)json_object_del(l->state.workers, id);
		else
			r = pick_up(p, t, row, err);
	}
	drop_gone(p);
	return r;
}

/* ---- shares of the limits ---- */

/* Returns the part of the limits that no running worker has. */
static struct loop_used unshared(const struct pool *p)
{
	const struct loop_used used = loop_used(p->l);
	struct loop_used left = limits_left(&p->l->limits, &used);

	for (size_t i = 0; i < p->n; i++) {
		const struct loop_used *s = &p->w[i]->share;

		if (p->w[i]->state != WORKER_RUNS)
			continue;
		left.iterations -=
			s->iterations < left.iterations ? s->iterations : left.iterations;
		left.micro_usd -= s->micro_usd < left.micro_usd ? s->micro_usd : left.micro_usd;
	}
	return left;
}

/* Returns for how many of n workers there is a share. */
static size_t shares(const struct pool *p, const struct loop_used *left, size_t n)
{
	const struct loop_limits *m = &p->l->limits;

	if ((m->micro_usd && left->micro_usd == 0) || (m->duration_ms && left->active_ms == 0))
		return 0;
	return m->iterations && left->iterations < n ? (size_t)left->iterations : n;
}

/* The share of the i-th of n workers. */
static struct loop_used share_of(const struct loop_used *left, size_t n, size_t i)
{
	return (struct loop_used){
		.iterations = left->iterations / n + (i < left->iterations % n),
		.micro_usd = left->micro_usd / n ? left->micro_usd / n : 1,
		.active_ms = left->active_ms,
	};
}

/* ---- slots ---- */

/* Returns how many workers may be added. */
static size_t places_left(const struct pool *p)
{
	return p->n < p->max ? p->max - p->n : 0;
}

/* One task alone needs no worktree: the loop works on it itself. */
static bool is_alone(const struct pool *p, size_t ready)
{
	return p->n == 0 && ready < 2 && !p->l->placement;
}

/* Adds a worker for each ready task that has a slot and a share, behind those that wait. */
static int add_ready(struct pool *p, size_t n, struct err *err)
{
	struct loop *l = p->l;
	cleanup_free struct task **ready = xcalloc(n + 1, sizeof(struct task *));
	size_t waiting = count(p, WORKER_WAITS), found;
	size_t want = n > waiting ? n - waiting : 0;
	int r = 0;

	if (want > places_left(p))
		want = places_left(p);
	found = work_independent(l->work, (unsigned)l->limits.max_attempts, ready, want);
	if (is_alone(p, found))
		return 0;
	for (size_t i = 0; r == 0 && i < found; i++)
		r = new_worker(p, ready[i], err);
	/* One write for all: a thousand rows are not written a thousand times. */
	if (r == 0 && found)
		r = state_save(&l->state, err);
	for (size_t i = p->n - found; r == 0 && i < p->n; i++)
		r = make_new(p->w[i], err);
	return r < 0 || !found ? r : work_begin_all(l->work, ready, found, err);
}

static int start_waiting(struct pool *p, const struct loop_used *left, size_t n, struct err *err)
{
	size_t waiting = count(p, WORKER_WAITS), started = 0;
	cleanup_free struct worker **set = xcalloc(n + 1, sizeof(struct worker *));
	bool noted = false;
	int r = 0;

	n = n < waiting ? n : waiting;
	for (size_t i = 0; r == 0 && i < p->n && started < n; i++) {
		struct worker *w = p->w[i];

		if (w->state != WORKER_WAITS)
			continue;
		w->share = share_of(left, n, started);
		w->began = p->l->state.active_ms;
		set[started++] = w;
		noted |= w->ops->prepare != NULL;
		r = w->ops->prepare ? w->ops->prepare(w, err) : 0;
	}
	if (r == 0 && noted)
		r = state_save(&p->l->state, err);
	for (size_t i = 0; r == 0 && i < started; i++)
		r = set[i]->ops->start(set[i], err);
	return r;
}

static size_t slots_now(struct pool *p)
{
	uint64_t now = now_ms(), next;
	size_t slots = pace_slots(&p->l->pace, now, p->slots);

	next = pace_next(&p->l->pace, now);
	if (next)
		ev_timer_set(p->l->ev, &p->paced, next);
	return slots;
}

/* Fills the free slots: first with workers that wait for a share, then with ready tasks. */
static int fill(struct pool *p, struct err *err)
{
	const struct loop_used left = unshared(p);
	size_t running = count(p, WORKER_RUNS), slots = slots_now(p);
	size_t n = shares(p, &left, running < slots ? slots - running : 0);
	int r;

	if (p->drains || control_wants_end(&p->l->control) || n == 0)
		return 0;
	r = add_ready(p, n, err);
	return r < 0 ? r : start_waiting(p, &left, n, err);
}

/* ---- the end of workers ---- */

/* A worker that was killed, or whose sandbox was, continues from its journal; after DEATHS_MAX of
 * that it fails. */
static void judge_death(struct worker *w)
{
	const bool killed = w->code > 128;

	if ((!killed && w->code != EXIT_RUNTIME) || w->l->control.stop)
		return;
	if (w->lost)
		show_line(&w->l->show, STYLE_RED, "the worker of %s %s%s was lost: %s", w->task->id,
			  w->node ? "on " : "at ", w->node ? w->node : w->place, w->why);
	else
		show_line(&w->l->show, STYLE_RED, "the worker of %s was ended by %s %d%s%s",
			  w->task->id, killed ? "signal" : "an error: exit",
			  killed ? w->code - 128 : w->code, w->place ? ": " : "",
			  w->place ? w->why : "");
	w->code = ++w->deaths < DEATHS_MAX && !w->hopeless ? LOOP_LIMIT : EXIT_RUNTIME;
}

/* Counts what the worker has used, in the write that says so in its row. */
static int collect(struct pool *p, struct worker *w, struct err *err)
{
	w->ops->account(w);
	w->ops->stop(w);
	if (w->yields && w->code == LOOP_PAUSED && !control_wants_end(&w->l->control))
		w->code = LOOP_LIMIT;
	w->yields = false;
	judge_death(w);
	w->state = w->rejected || worker_is_final(w->code) ? WORKER_FINAL
		   : w->code == LOOP_LIMIT		   ? WORKER_WAITS
							   : WORKER_LEFT;
	/* A provider or a credential that is gone is gone for all workers. */
	p->drains |= w->state == WORKER_LEFT;
	worker_note(w);
	return state_save(&p->l->state, err);
}

/* Collects the ended workers, and gives their slots to others. */
static int serve(struct pool *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++)
		if (p->w[i]->state == WORKER_ENDED)
			r = collect(p, p->w[i], err);
	return r < 0 ? r : fill(p, err);
}

/* Runs in the event loop, also while a merge is verified: the slot must not wait for that. */
static void on_serve(struct ev *ev, struct ev_defer *d)
{
	struct pool *p = ev_owner(d, struct pool, serve);

	if (p->failure == 0)
		p->failure = serve(p, &p->err);
	if (p->waits)
		ev_stop(ev);
}

static void on_paced(struct ev *ev, struct ev_timer *t)
{
	ev_defer(ev, &ev_owner(t, struct pool, paced)->serve);
}

/* The last ones that were started end after their iteration, and go on when there is room. */
static void yield(struct pool *p, size_t most)
{
	size_t running = count(p, WORKER_RUNS);

	for (size_t i = p->n; i > 0 && running > most; i--) {
		struct worker *w = p->w[i - 1];

		if (w->state != WORKER_RUNS)
			continue;
		running--;
		w->yields = true;
		w->ops->end(w, false);
	}
}

void pool_limited(struct pool *p, uint64_t for_ms)
{
	struct loop *l = p->l;

	if (pace_limited(&l->pace, now_ms(), for_ms, count(p, WORKER_RUNS))) {
		show_line(
			&l->show, STYLE_YELLOW,
			"a worker met the provider's limit: from now on %zu at once, and one more "
			"after each quiet ten minutes",
			l->pace.most);
		yield(p, l->pace.most);
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->w[i]->state == WORKER_RUNS)
			placed_tell_limit(p->w[i]);
	(void)slots_now(p);
}

void pool_worker_ended(struct pool *p)
{
	ev_defer(p->l->ev, &p->serve);
}

/* ---- the queue ---- */

/* Done workers whose merge a killed loop began are a set of their own. */
static size_t next_set(const struct pool *p, struct worker **set)
{
	size_t n = 0, begun = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct worker *w = p->w[i];

		if (w->state != WORKER_FINAL || w->code != LOOP_DONE || w->rejected)
			continue;
		if (w->before && begun++ == 0)
			n = 0;
		if (w->before || !begun)
			set[n++] = w;
	}
	return n;
}

static size_t place_of(const struct worker *w)
{
	size_t i = 0;

	while (i < w->l->work->n && w->l->work->tasks[i] != w->task)
		i++;
	return i;
}

static void sort_set(struct worker **set, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && place_of(set[k]) < place_of(set[k - 1]); k--) {
			struct worker *w = set[k];

			set[k] = set[k - 1];
			set[k - 1] = w;
		}
}

/* Settles what needs no merge: verified merges of a killed loop, and tasks that are not done. */
static int settle_final(struct pool *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		struct worker *w = p->w[i];

		if (w->state != WORKER_FINAL)
			continue;
		if (w->rejected)
			r = worker_reject(w, w->why, err);
		else if (w->code != LOOP_DONE)
			r = worker_settle(w, err);
		else if (w->commit && !w->before)
			r = worker_accept(w, err);
	}
	return r;
}

/* Finishes the workers of the queue. A loop that is stopped leaves them for the next one. */
static int finish(struct pool *p, struct err *err)
{
	cleanup_free struct worker **set = xcalloc(p->max, sizeof(struct worker *));
	size_t n;
	int r = settle_final(p, err);

	while (r == 0 && !p->l->control.stop && (n = next_set(p, set)) > 0) {
		sort_set(set, n);
		r = workers_merge(p, set, n, err);
	}
	drop_gone(p);
	return r == -ECANCELED ? 0 : r; /* stopped: the workers end too, and are waited for */
}

/* ---- all ---- */

static void on_control(void *arg)
{
	struct pool *p = arg;
	const struct control *c = &p->l->control;

	if (!c->stop && !p->told)
		show_line(&p->l->show, STYLE_YELLOW,
			  "pausing after these iterations; Ctrl-C once more stops them now");
	p->told = true;
	for (size_t i = 0; i < p->n; i++)
		if (p->w[i]->state == WORKER_RUNS)
			p->w[i]->ops->end(p->w[i], c->stop);
}

static int wait_for_end(struct pool *p, struct err *err)
{
	int r;

	status_write(p->l, "iterating", 0);
	notify_look(p->l);
	p->waits = true;
	r = ev_run(p->l->ev, err);
	p->waits = false;
	return r;
}

static int take_failure(struct pool *p, int r, struct err *err)
{
	if (r < 0 || p->failure == 0)
		return r;
	*err = p->err;
	return p->failure;
}

/* Answers and changes of the list may make tasks ready. */
static int look_at_work(struct pool *p, struct err *err)
{
	int r = answers_take(p->l, err);

	if (r == 0)
		r = work_reload(p->l->work, err);
	loop_show_news(p->l);
	return r;
}

static int run_pool(struct pool *p, struct err *err)
{
	int r = 0;

	control_look(&p->l->control);
	while (r == 0) {
		r = serve(p, err);
		if (r == 0)
			r = finish(p, err);
		if (r == 0)
			r = look_at_work(p, err);
		if (r == 0)
			r = serve(p, err);
		r = take_failure(p, r, err);
		if (r == 0 && count(p, WORKER_FINAL) > 0 && !p->l->control.stop)
			continue;
		if (r < 0 || count(p, WORKER_RUNS) == 0)
			break;
		r = take_failure(p, wait_for_end(p, err), err);
	}
	return r;
}

/* Workers that wait or cannot go on keep their rows. */
static int leave_rest(struct pool *p, int *ret_code, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = worker_leave(p->w[i], ret_code, err);
	return r;
}

static void pool_done(struct pool *p)
{
	p->l->control.workers = NULL;
	ev_timer_stop(p->l->ev, &p->paced);
	p->failure = -ECANCELED; /* nothing is served any more */
	for (size_t i = 0; i < p->n; i++) {
		worker_done(p->w[i]);
		free(p->w[i]);
	}
	free(p->w);
}

int parallel_run(struct loop *l, bool *ret_ran, int *ret_code, struct err *err)
{
	size_t rows = json_object_size(l->state.workers);
	struct pool p = {.l = l, .slots = l->slots, .serve.fn = on_serve, .paced.fn = on_paced};
	int r;

	*ret_code = -1;
	*ret_ran = false;
	if (!l->work || !l->repo || l->mode == LOOP_PLAN ||
	    (l->slots < 2 && rows == 0 && !l->placement))
		return 0;
	p.max = p.slots * POOL_PER_SLOT > rows ? p.slots * POOL_PER_SLOT : rows;
	p.w = xcalloc(p.max, sizeof(struct worker *));
	l->control.workers = on_control;
	l->control.workers_arg = &p;
	if (l->placement)
		placed_reap_all(l);
	r = pick_up_all(&p, err);
	if (r == 0)
		r = run_pool(&p, err);
	if (r == 0)
		r = leave_rest(&p, ret_code, err);
	*ret_ran = p.ran;
	pool_done(&p);
	if (l->placement)
		streams_end(l);
	return r;
}
