/* The operations of a placed worker, and the states of its stream. */
#include "loop/placed/placed.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "repo/send/repo-pack.h"

#define STOP_MS 20000 /* for it to send what it has when the loop is stopped */
#define WHY_MAX 1000

/* ---- its end ---- */

static void free_placed(struct placed *p)
{
	json_decref(p->summary);
	json_decref(p->taking.verdict);
	json_decref(p->taking.before);
	free(p->said);
	closep(&p->pack);
	spool_done(&p->spool);
	free(p);
}

static void on_over(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, over);

	p->w->state = WORKER_ENDED;
	pool_worker_ended(p->w->pool);
}

static void leave_stream(struct placed *p, bool drains)
{
	placed_cred_forget(p);
	placed_tunnels_free(p);
	placed_logs_end(p);
	placed_people_end(p);
	placed_take_stop(p);
	ev_timer_stop(p->w->l->ev, &p->end);
	ev_timer_stop(p->w->l->ev, &p->due);
	placed_release(p, drains);
	p->state = PLACED_OVER;
}

/* A timer: deferred work of an event loop that does not run yet would wait for another event. */
void placed_over(struct placed *p, bool drains)
{
	if (p->state == PLACED_OVER)
		return;
	leave_stream(p, drains);
	ev_timer_set(p->w->l->ev, &p->over, 0);
}

static void set_why(struct placed *p, const char *fmt, va_list ap)
{
	cleanup_buf struct buf b;
	char what[WHY_MAX];
	const char *said;

	said = p->s ? stream_said(p->s) : NULL;
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	buf_init(&b, 2 * WHY_MAX + PLACE_STDERR_MAX);
	(void)buf_puts(&b, what);
	if (said && *said) {
		(void)buf_puts(&b, "; it says: ");
		(void)buf_put_escaped(&b, said);
	}
	free(p->w->why);
	p->w->why = xstrdup(buf_str(&b));
}

/* A worker that was asked to end did, in its way. */
static int code_of(const struct placed *p)
{
	const struct control *c = &p->w->l->control;

	return !p->stopping ? EXIT_RUNTIME : c->stop ? 128 + c->stop : LOOP_PAUSED;
}

void placed_lost(struct placed *p, const char *fmt, ...)
{
	va_list ap;

	if (p->state == PLACED_OVER)
		return;
	va_start(ap, fmt);
	set_why(p, fmt, ap);
	va_end(ap);
	p->w->lost = !p->stopping;
	p->w->code = code_of(p);
	placed_over(p, p->state != PLACED_WAITS && !p->acked);
}

static void give_up(struct placed *p)
{
	p->w->lost = true;
	p->w->hopeless = true;
	p->w->code = EXIT_RUNTIME;
	placed_over(p, p->state != PLACED_WAITS && !p->acked);
}

void placed_failed(struct placed *p, const char *fmt, ...)
{
	va_list ap;

	if (p->state == PLACED_OVER)
		return;
	va_start(ap, fmt);
	set_why(p, fmt, ap);
	va_end(ap);
	give_up(p);
}

void placed_refused(struct placed *p, const char *fmt, ...)
{
	cleanup_free char *why = NULL;
	va_list ap;

	if (p->state == PLACED_OVER)
		return;
	va_start(ap, fmt);
	set_why(p, fmt, ap);
	va_end(ap);
	why = p->w->why;
	p->w->why = xasprintf("the placement '%s' cannot be used: %s", p->w->place, why);
	give_up(p);
}

static void on_end(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, end);

	placed_lost(p, "it does not end");
}

/* The loop's time is over, and the worker should have seen that itself. */
static void on_due(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, due);

	(void)fleet_put_json(&p->s->to, FLEET_STOP, p->slot, fleet_stop_json(true));
	placed_flush(p);
	ev_timer_set(ev, &p->end, STOP_MS);
}

/* ---- operations ---- */

static int point(const struct worker *w, struct err *err)
{
	/* A loop that was killed may have pointed it further than its row says. */
	return repo_branch_point(w->l->repo, w->branch, placed_start(w), w->epoch == 0, err);
}

/* A user may rewrite history and prune while the loop does not run: the task then starts where it can. */
static int make(struct worker *w, const char *head, struct err *err)
{
	int r;

	if (!w->base)
		w->base = xstrdup(head);
	r = point(w, err);
	if (r == -ENOENT && w->checkpoint) {
		show_line(&w->l->show, STYLE_YELLOW,
			  "the last commit of %s is not in the repository any more", w->task->id);
		free(take_ptr(w->checkpoint));
		r = point(w, err);
	}
	if (r == -ENOENT && !streq(w->base, head)) {
		show_line(&w->l->show, STYLE_YELLOW,
			  "the commit that %s began at is not in the repository any more",
			  w->task->id);
		free(w->base);
		w->base = xstrdup(head);
		r = point(w, err);
	}
	return r;
}

/* Nothing of an earlier epoch counts any more: the row says so, and is saved before anything runs. */
static int next_epoch(struct worker *w, struct err *err)
{
	char lease[FLEET_LEASE_LEN + 1];
	int r = fleet_lease_make(lease);

	if (r < 0)
		return err_sys(err, -r, "cannot get random bytes");
	w->epoch++;
	w->attempts += w->tries;
	w->tries = 0;
	w->taken = (struct loop_used){0};
	w->taken_tokens = w->taken_waited = 0;
	w->lost = w->rejected = false;
	free(w->lease);
	w->lease = xstrdup(lease);
	free(take_ptr(w->node));
	free(take_ptr(w->job));
	worker_note(w);
	return 0;
}

static struct placed *new_placed(struct worker *w)
{
	struct placed *p = xcalloc(1, sizeof(*p));

	*p = (struct placed){.w = w,
			     .pack = -1,
			     .log = -1,
			     .spool = SPOOL_INIT,
			     .over.fn = on_over,
			     .end.fn = on_end,
			     .due.fn = on_due,
			     .began_ms = now_ms(),
			     .began_s = (uint64_t)time(NULL)};
	return p;
}

static int prepare(struct worker *w, struct err *err)
{
	if (w->lease) {
		cleanup_(spool_done) struct spool old = SPOOL_INIT;

		if (spool_open(&old, w->l->place.state, w->lease, err) == 0)
			spool_remove(&old);
		/* The loop, or what took commits over, may have been killed before it did so. */
		placed_drop_held(w, w->lease);
	}
	w->placed = new_placed(w);
	w->state = WORKER_RUNS;
	placed_attach(w->placed);
	return next_epoch(w, err);
}

static int start(struct worker *w, struct err *err)
{
	struct placed *p = w->placed;
	struct place_words words;
	int r = spool_open(&p->spool, w->l->place.state, w->lease, err);

	/* The hub could not be started for the one before it. */
	if (p->state == PLACED_OVER)
		return 0;
	if (r < 0)
		return r;
	placed_words(w, w->l->placement, &words);
	if (p->s->in < 0 && stream_start(p->s, &words, err) < 0)
		stream_refused(p->s, "%s", err->msg);
	placed_flush(p);
	return 0;
}

static void end(struct worker *w, bool now)
{
	struct placed *p = w->placed;

	if (!p || p->state == PLACED_OVER)
		return;
	p->stopping = true;
	if (p->state == PLACED_WAITS) {
		placed_lost(p, "the loop ends");
		return;
	}
	(void)fleet_put_json(&p->s->to, FLEET_STOP, p->slot, fleet_stop_json(now));
	placed_flush(p);
	if (now)
		ev_timer_set(w->l->ev, &p->end, STOP_MS);
}

static void stop(struct worker *w)
{
	struct placed *p = w->placed;

	if (!p)
		return;
	ev_timer_stop(w->l->ev, &p->over);
	if (p->state != PLACED_OVER)
		leave_stream(p, p->state != PLACED_WAITS && !p->acked);
	/* What it sent is of no use to the next one. */
	if (w->lost)
		spool_remove(&p->spool);
	w->placed = NULL;
	free_placed(p);
	streams_sweep(w->l);
}

static void take_summary(struct placed *p)
{
	cleanup_fd int stage = placed_logs_stage(p->w);
	uint64_t before = p->w->taken.iterations;

	worker_take_summary(p->w, p->summary, stage);
	placed_logs_count(p, p->w->taken.iterations - before);
}

static void account(struct worker *w)
{
	struct placed *p = w->placed;
	cleanup_free char *why = xstrdup_or_null(w->why);
	const json_t *task;

	if (p && p->summary) {
		task = json_array_get(json_object_get(p->summary, "tasks"), 0);
		w->tries = (unsigned)json_integer_value(json_object_get(task, "attempts"));
		take_summary(p);
	}
	if ((w->lost || w->rejected || !p || !p->summary) && why) {
		free(w->why);
		w->why = take_ptr(why);
	}
	if (!w->why)
		w->why = xstrdup(p && p->said ? p->said : "its worker says nothing");
}

static int clear(struct worker *w, struct err *err)
{
	cleanup_(spool_done) struct spool s = SPOOL_INIT;
	cleanup_free char *name = placed_record_name(w), *kept = NULL;

	if (w->lease && spool_open(&s, w->l->place.state, w->lease, err) == 0)
		spool_remove(&s);
	placed_logs_clear(w);
	return name ? clear_sandbox(w->l, name, &kept, err) : 0;
}

const struct worker_ops worker_placed = {
	.make = make,
	.prepare = prepare,
	.start = start,
	.end = end,
	.stop = stop,
	.account = account,
	.clear = clear,
};
