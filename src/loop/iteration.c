/*
 * DOC: Theory of operation
 *
 * Lines of stdout go to three readers: the log gets them unchanged, agent/result parses them,
 * render displays them. Five timers limit the run; the first one that is due decides how it ended:
 *
 *	total    from the start                 → RUN_TOO_LONG
 *	idle     from the last byte of output   → RUN_SILENT; if the agent reported a rate limit
 *	         and is silent after it, only `grace` → RUN_LIMITED
 *	grace    from the agent's result        → as the result says
 *	spent    `grace` from when the spending limit is reached: the provider refuses further
 *	         requests, and the agent may still commit → RUN_SPENT
 *	tick     every two seconds, for the status; while the agent waits for a person's answer,
 *	         total and idle are put off by it
 *
 * A run always ends with the end of its job: a timer only kills the tree and records the reason.
 */
#include "loop/iteration.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"
#include "loop/job.h"
#include "view/lines.h"
#include "view/render.h"

#define TICK_MS 2000
#define TORN_TRIES 8 /* how often another beginning is looked for in a line that is none */

struct run_state {
	struct iteration *it;
	struct job job;
	struct lines lines;
	struct ev_timer total, idle, grace, spent, tick;
	struct buf tail;     /* the end of the output, for agents that print plain text */
	struct buf err_tail; /* of stderr */
	struct render render;
	char tool[RENDER_MAX + 1];
	uint64_t cost, logged, err_logged, out_bytes, ticked_ms;
	bool killed, killed_after_result, is_spent;
	enum run_end why; /* RUN_OK: ralph did not end the run */
};

static void kill_run(struct run_state *s, enum run_end why)
{
	if (!s->killed)
		s->why = why;
	s->killed = true;
	job_signal(&s->job, SIGKILL);
}

static void on_total(struct ev *ev, struct ev_timer *t)
{
	kill_run(ev_owner(t, struct run_state, total), RUN_TOO_LONG);
}

static void on_idle(struct ev *ev, struct ev_timer *t)
{
	struct run_state *s = ev_owner(t, struct run_state, idle);

	kill_run(s, s->it->said.limited ? RUN_LIMITED : RUN_SILENT);
}

static void on_grace(struct ev *ev, struct ev_timer *t)
{
	struct run_state *s = ev_owner(t, struct run_state, grace);

	s->killed_after_result = true;
	kill_run(s, RUN_OK);
}

static void on_spent(struct ev *ev, struct ev_timer *t)
{
	kill_run(ev_owner(t, struct run_state, spent), RUN_SPENT);
}

static void tell(struct run_state *s)
{
	struct iteration *it = s->it;

	if (it->tick)
		s->cost = it->tick(it->arg, it, s->tool);
	if (!it->allowance || s->cost < it->allowance || s->is_spent)
		return;
	s->is_spent = true;
	show_line(it->show, STYLE_YELLOW,
		  "it has spent " SHOW_USD " of " SHOW_USD "; its provider is closed to it",
		  SHOW_USD_ARGS(s->cost), SHOW_USD_ARGS(it->allowance));
	ev_timer_set(it->ev, &s->spent, it->grace_ms);
}

/* A person takes as long as a person takes; asks_wait() bounds it. */
static void stand_still(struct run_state *s, uint64_t ms)
{
	uint64_t now = ev_now(s->it->ev);

	s->it->waited_ms += ms;
	if (s->it->total_ms)
		ev_timer_set(s->it->ev, &s->total,
			     (s->total.at > now ? s->total.at - now : 0) + ms);
	if (s->it->idle_ms)
		ev_timer_set(s->it->ev, &s->idle, s->it->idle_ms);
}

static void on_tick(struct ev *ev, struct ev_timer *t)
{
	struct run_state *s = ev_owner(t, struct run_state, tick);
	uint64_t now = now_ms(), ms = now - s->ticked_ms;

	s->ticked_ms = now;
	if (s->it->waits && s->it->waits(s->it->arg, s->it))
		stand_still(s, ms);
	tell(s);
	ev_timer_set(ev, t, TICK_MS);
}

static void on_control(void *arg)
{
	struct run_state *s = arg;

	if (s->it->control->stop)
		kill_run(s, RUN_STOPPED);
	else
		show_line(s->it->show, STYLE_YELLOW,
			  "pausing after this iteration; Ctrl-C once more stops it now");
}

static void on_part(void *arg, enum render_kind kind, const char *text)
{
	struct run_state *s = arg;
	struct show *show = s->it->show;

	switch (kind) {
	case RENDER_WORDS:
		show_quote(show, text, SHOW_WORDS_LINES);
		return;
	case RENDER_CALL:
		(void)snprintf(s->tool, sizeof(s->tool), "%s", text);
		tell(s);
		show_line(show, STYLE_NONE, SHOW_USD "  %s", SHOW_USD_ARGS(s->cost), s->tool);
		return;
	case RENDER_FAILED:
		show_line(show, STYLE_YELLOW, "failed: %s", text);
		return;
	case RENDER_NOTICE:
		show_line(show, STYLE_YELLOW, "%s", text);
		return;
	}
}

/* Handles one complete record: only a complete record counts. */
static void on_record(struct run_state *s, const char *line, size_t n)
{
	struct iteration *it = s->it;
	bool seen = it->said.seen;

	agent_result_line(&it->said, it->stream, line, n);
	render_line(&s->render, it->stream, line, n, on_part, s);
	/* Each further result restarts the grace timer: a background task may still be running. */
	if (it->said.seen && (!seen || memmem(line, n, "\"result\"", 8)))
		ev_timer_set(it->ev, &s->grace, it->grace_ms);
}

/* True when the line is one whole JSON object with a type. */
static bool is_record(struct jtext t)
{
	static const char *const names[] = {"type"};
	struct jtext v[1];

	return jpick(t, names, v, 1) && v[0].p;
}

/* Two writers on one pipe can put a record behind the torn beginning of another. */
static void on_torn(struct run_state *s, const char *line, size_t n)
{
	const char *p = line, *end = line + n;

	for (int i = 0; i < TORN_TRIES; i++) {
		struct jtext t;

		p = p + 1 < end ? memmem(p + 1, (size_t)(end - p - 1), "{\"type\"", 7) : NULL;
		if (!p)
			return;
		t = (struct jtext){p, (size_t)(end - p)};
		if (is_record(t)) {
			on_record(s, p, t.n);
			return;
		}
	}
}

static void on_line(void *arg, const char *line, size_t n)
{
	struct run_state *s = arg;
	struct iteration *it = s->it;
	const struct jtext t = {line, n};

	/* A command of the user's own is often a wrapper of the default agent. */
	if (!it->stream && agent_stream_is(agent_default()->stream, line, n))
		it->stream = agent_default()->stream;
	if (!it->stream)
		return;
	if (is_record(t))
		on_record(s, line, n);
	else
		on_torn(s, line, n);
}

static void write_log(int fd, uint64_t *logged, uint64_t max, const char *p, size_t n)
{
	static const char more[] = "\n{\"type\":\"ralph\",\"note\":\"the rest was not kept\"}\n";

	if (fd < 0 || *logged > max)
		return;
	if (*logged + n > max) {
		(void)fd_write_all(fd, more, sizeof(more) - 1);
		*logged = max + 1;
		return;
	}
	*logged += n;
	/* A failed write to the log does not end the iteration. */
	(void)fd_write_all(fd, p, n);
}

/* Keeps at least the last `max` bytes, and at most twice as many. */
static void keep_tail(struct buf *b, const char *p, size_t n)
{
	const size_t max = b->max / 2;

	if (n > max) {
		p += n - max;
		n = max;
	}
	if (b->len + n > b->max)
		buf_consume(b, b->len - max < b->len ? b->len - max : 0);
	(void)buf_append(b, p, n);
}

static void on_output(struct job *j, bool is_err, const char *p, size_t n)
{
	struct run_state *s = j->owner;
	struct iteration *it = s->it;
	uint64_t quiet = it->idle_ms;

	if (is_err) {
		write_log(it->err_log, &s->err_logged, ITERATION_ERR_MAX, p, n);
		keep_tail(&s->err_tail, p, n);
	} else {
		s->out_bytes += n;
		write_log(it->log, &s->logged, ITERATION_LOG_MAX, p, n);
		keep_tail(&s->tail, p, n);
		lines_add(&s->lines, p, n, on_line, s);
	}
	if (it->said.limited && (quiet == 0 || quiet > it->grace_ms))
		quiet = it->grace_ms;
	if (quiet)
		ev_timer_set(it->ev, &s->idle, quiet);
}

static void on_ended(struct job *j)
{
	struct run_state *s = j->owner;

	ev_stop(s->it->ev);
}

static const struct job_handler handler = {.output = on_output, .ended = on_ended};

/* Returns the reason of a failed run, from the most precise source: job, result text, result
 * reason, stderr. */
static char *failure_of(const struct run_state *s)
{
	const struct iteration *it = s->it;
	struct buf *e = (struct buf *)&s->err_tail;

	if (s->job.failure)
		return xstrdup(s->job.failure);
	if (it->said.failed && it->said.text)
		return xstrdup(it->said.text);
	if (it->said.failed && it->said.reason)
		return xstrdup(it->said.reason);
	return e->len ? xstrdup(buf_str(e)) : NULL;
}

static bool is_limited(const struct agent_result *said)
{
	return said->limited || (said->reason && streq(said->reason, "usage_limit_reached"));
}

static bool is_outage(const struct agent_result *said)
{
	return said->failed && (said->unreached || said->status == 429 || said->status >= 500);
}

/* The order matters: the reason why the run ended takes precedence over the agent's result. */
static enum run_end decide(const struct run_state *s)
{
	const struct iteration *it = s->it;
	int code = s->killed_after_result ? 0 : s->job.code;

	if (s->why == RUN_STOPPED)
		return RUN_STOPPED;
	if (s->job.failure && !s->killed)
		return s->job.started ? RUN_LOST : RUN_NOT_STARTED;
	if (s->killed && !s->killed_after_result)
		return is_limited(&it->said) ? RUN_LIMITED : s->why;
	if (agent_result_ok(&it->said, it->stream, code))
		return it->empty ? RUN_EMPTY : RUN_OK;
	if (s->is_spent)
		return RUN_SPENT;
	if (is_limited(&it->said))
		return RUN_LIMITED;
	if (it->said.status == 401 || it->said.status == 403)
		return RUN_CREDENTIAL;
	if (is_outage(&it->said))
		return RUN_OUTAGE;
	return it->empty ? RUN_EMPTY : RUN_FAILED;
}

static void conclude(struct run_state *s, uint64_t began)
{
	struct iteration *it = s->it;

	lines_end(&s->lines, on_line, s);
	render_end(&s->render, on_part, s);
	it->ms = now_ms() - began;
	it->code = s->job.code;
	tell(s);
	it->empty = s->out_bytes == 0 && s->err_tail.len == 0 && !s->killed && !s->job.failure;
	if (!it->stream && s->tail.len) {
		free(it->said.text);
		it->said.text = xstrdup(buf_str(&s->tail));
	}
	it->shown = render_shown(&s->render, it->said.text);
	it->end = decide(s);
	last_words_find(it->said.text, &it->last_words);
	if (it->end != RUN_OK)
		it->failure = failure_of(s);
}

static void stop_timers(struct run_state *s)
{
	ev_timer_stop(s->it->ev, &s->total);
	ev_timer_stop(s->it->ev, &s->idle);
	ev_timer_stop(s->it->ev, &s->grace);
	ev_timer_stop(s->it->ev, &s->spent);
	ev_timer_stop(s->it->ev, &s->tick);
}

static int run(struct run_state *s, int input, struct err *err)
{
	struct iteration *it = s->it;
	const struct job_command c = {
		.argv = it->argv, .env = it->env, .whole = it->whole, .input = input};
	uint64_t began = now_ms();
	int r;

	s->job.handler = &handler;
	s->job.owner = s;
	r = job_start(&s->job, it->ev, it->places, it->sandbox, &c, err);
	if (r < 0)
		return r;
	if (it->total_ms)
		ev_timer_set(it->ev, &s->total, it->total_ms);
	if (it->idle_ms)
		ev_timer_set(it->ev, &s->idle, it->idle_ms);
	s->ticked_ms = now_ms();
	ev_timer_set(it->ev, &s->tick, TICK_MS);
	it->control->changed = on_control;
	it->control->arg = s;
	if (it->control->stop)
		kill_run(s, RUN_STOPPED);
	r = ev_run(it->ev, err);
	it->control->changed = NULL;
	if (r == 0)
		conclude(s, began);
	stop_timers(s);
	job_done(&s->job);
	return r;
}

int iteration_run(struct iteration *it, struct err *err)
{
	struct run_state s = {
		.it = it,
		.total.fn = on_total,
		.idle.fn = on_idle,
		.grace.fn = on_grace,
		.spent.fn = on_spent,
		.tick.fn = on_tick,
	};
	cleanup_fd int input = fd_memfd("prompt", it->prompt, it->prompt_len);
	int r;

	if (input < 0)
		return err_sys(err, -input, "cannot make a memory file");
	agent_result_init(&it->said);
	it->stream = it->agent->stream;
	lines_init(&s.lines, AGENT_LINE_MAX);
	buf_init(&s.tail, 2 * AGENT_TEXT_MAX);
	buf_init(&s.err_tail, 8 * KiB);
	render_init(&s.render);
	r = run(&s, input, err);
	lines_done(&s.lines);
	buf_done(&s.tail);
	buf_done(&s.err_tail);
	render_done(&s.render);
	return r;
}

void iteration_done(struct iteration *it)
{
	agent_result_done(&it->said);
	last_words_done(&it->last_words);
	free(it->failure);
	it->failure = NULL;
}
