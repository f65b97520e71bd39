/* The operations of a placed worker, and the states of its stream. */
#include "loop/placed/placed.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "build-config.h"
#include "repo/send/repo-pack.h"

#define STOP_MS 20000 /* for it to send what it has when the loop is stopped */
#define LAST_MS 2000  /* for the last words of a command whose stream has ended */
#define WHY_MAX 1000

/* ---- its end ---- */

static void free_placed(struct placed *p)
{
	json_decref(p->summary);
	free(p->said);
	fleet_in_done(&p->from);
	fleet_out_done(&p->to);
	spool_done(&p->spool);
	buf_done(&p->tail);
	free(p);
}

static void on_over(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, over);

	placed_close(p);
	p->w->state = WORKER_ENDED;
	pool_worker_ended(p->w->pool);
}

/* A timer: deferred work of an event loop that does not run yet would wait for another event. */
void placed_over(struct placed *p)
{
	if (p->state == PLACED_OVER)
		return;
	p->state = PLACED_OVER;
	if (p->in >= 0)
		(void)ev_want(p->w->l->ev, &p->in_io, 0);
	ev_timer_set(p->w->l->ev, &p->over, 0);
}

/* The last line that the command said is what people look for. */
static const char *last_line(struct placed *p)
{
	char *text = p->tail.len ? p->tail.data : NULL, *line;

	while (text && p->tail.len && strchr("\r\n ", text[p->tail.len - 1]))
		text[--p->tail.len] = '\0';
	line = text ? strrchr(text, '\n') : NULL;
	return line ? line + 1 : text;
}

static void set_why(struct placed *p, const char *fmt, va_list ap)
{
	cleanup_buf struct buf b;
	char what[WHY_MAX];
	const char *said;

	placed_read_errors(p);
	said = last_line(p);
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
	if (p->state == PLACED_CLOSING) {
		placed_over(p);
		return;
	}
	va_start(ap, fmt);
	set_why(p, fmt, ap);
	va_end(ap);
	p->w->lost = !p->stopping;
	p->w->code = code_of(p);
	placed_over(p);
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
	p->w->lost = true;
	p->w->hopeless = true;
	p->w->code = EXIT_RUNTIME;
	placed_over(p);
}

void placed_ended(struct placed *p)
{
	struct ev *ev = p->w->l->ev;

	(void)ev_want(ev, &p->in_io, 0);
	ev_timer_stop(ev, &p->lease);
	p->eof = true;
	if (p->state == PLACED_CLOSING || p->errors_eof)
		placed_lost(p, "its stream has ended");
	else
		ev_timer_set(ev, &p->end, LAST_MS);
}

static void on_end(struct ev *ev, struct ev_timer *t)
{
	struct placed *p = ev_owner(t, struct placed, end);

	placed_lost(p, p->eof ? "its stream has ended" : "it does not end");
}

/* ---- operations ---- */

void placed_words(const struct worker *w, const struct config_place *place, struct place_words *ret)
{
	const struct work *k = w->l->work;
	size_t i = 0;

	while (i < k->n && k->tasks[i] != w->task)
		i++;
	place_words(w->l->state.branch ? w->l->state.branch : "loop", w->l->q.workspace,
		    w->task->id, w->epoch, ret);
	ret->host = place->hosts.n ? place->hosts.v[(i + w->epoch) % place->hosts.n] : NULL;
}

static int make(struct worker *w, const char *head, struct err *err)
{
	if (!w->base)
		w->base = xstrdup(head);
	/* A loop that was killed may have pointed it further than its row says. */
	return repo_branch_point(w->l->repo, w->branch, placed_start(w), w->epoch == 0, err);
}

/* Nothing of an earlier epoch counts any more: the row says so before anything runs. */
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
	return state_save(&w->l->state, err);
}

static int greet(struct placed *p)
{
	const struct loop *l = p->w->l;
	const struct fleet_start s = {
		.protocol = FLEET_PROTOCOL,
		.version = RALPH_VERSION,
		.engine = l->config->engine,
		.lease_ms = l->config->fleet.lease_ms,
		.slots = 1,
	};

	return fleet_put_json(&p->to, FLEET_START, 0, fleet_start_json(&s));
}

static int start(struct worker *w, struct err *err)
{
	struct placed *p;
	int r;

	if (w->lease) {
		cleanup_(spool_done) struct spool old = SPOOL_INIT;

		if (spool_open(&old, w->l->place.state, w->lease, err) == 0)
			spool_remove(&old);
	}
	r = next_epoch(w, err);
	if (r < 0)
		return r;
	p = xcalloc(1, sizeof(*p));
	*p = (struct placed){.w = w,
			     .in = -1,
			     .out = -1,
			     .errors = -1,
			     .pack = -1,
			     .log = -1,
			     .spool = SPOOL_INIT,
			     .over.fn = on_over,
			     .end.fn = on_end,
			     .began_ms = now_ms(),
			     .began_s = (uint64_t)time(NULL)};
	p->child = (struct child){.pid = -1, .pidfd = -1};
	fleet_in_init(&p->from, FLEET_NODE);
	fleet_out_init(&p->to);
	buf_init(&p->tail, PLACE_STDERR_MAX);
	w->placed = p;
	w->state = WORKER_RUNS;
	r = spool_open(&p->spool, w->l->place.state, w->lease, err);
	if (r == 0)
		r = greet(p);
	if (r < 0)
		return err_set(err, -r, "cannot start a worker at %s", w->place);
	r = placed_open(p, w->l->placement, err);
	if (r < 0)
		placed_refused(p, "%s", err->msg);
	else
		placed_flush(p);
	return 0;
}

static void end(struct worker *w, bool now)
{
	struct placed *p = w->placed;

	if (!p || p->state >= PLACED_CLOSING)
		return;
	p->stopping = true;
	if (p->state == PLACED_WAITS) {
		placed_lost(p, "the loop ends");
		return;
	}
	(void)fleet_put_json(&p->to, FLEET_STOP, 0, fleet_stop_json(now));
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
	placed_close(p);
	w->placed = NULL;
	free_placed(p);
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
	.start = start,
	.end = end,
	.stop = stop,
	.account = account,
	.clear = clear,
};
