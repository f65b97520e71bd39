/* The end of an iteration: its judgement updates the task's state and the loop's counters. */
#include "loop/loop.h"

#include <time.h>

#include "base/log.h"
#include "loop/loop-usage.h"
#include "loop/notify/notify.h"
#include "live/live.h"

/* Counts iterations without progress, and marks a task as stuck. */
static void count_stuck(struct loop *l, const struct task *t, bool progress)
{
	struct intent *i = &l->state.intent;
	const char *id = t ? t->id : "";
	uint64_t stuck = progress ? 0 : state_task_uint(&l->state, id, "stuck") + 1;

	if (verdict_gives_back(i->verdict))
		return;
	state_task_set(&l->state, id, "stuck", json_integer((json_int_t)stuck));
	if (!t || i->state != TASK_READY)
		return;
	if (stuck >= l->limits.max_stuck || t->attempts >= l->limits.max_attempts) {
		cleanup_free char *why =
			stuck >= l->limits.max_stuck
				? xasprintf("%llu iterations without progress; the last: %s",
					    (unsigned long long)stuck, i->why)
				: xasprintf("%u attempts; the last: %s", t->attempts, i->why);

		i->state = TASK_STUCK;
		free(i->why);
		i->why = take_ptr(why);
	}
}

static void add_record(struct loop *l, const struct task *t)
{
	struct loop_state *s = &l->state;
	const struct intent *i = &s->intent;

	(void)json_array_append_new(
		s->records,
		json_pack("{sI ss so* so* sI sI sI so* so* ss so* sI sb so* so* so*}", "iteration",
			  (json_int_t)s->iterations, "agent", l->agent->name, "task",
			  t ? json_text(t->id) : NULL, "title",
			  t && t->title ? json_text(t->title) : NULL, "ms", (json_int_t)i->ms,
			  "tokens",
			  (json_int_t)(tokens_all(&s->tokens) - tokens_all(&s->tokens_mark)),
			  "micro_usd", (json_int_t)(s->micro_usd - s->cost_mark), "commit",
			  i->commit ? json_string(i->commit) : NULL, "before",
			  i->commit && i->head ? json_string(i->head) : NULL, "verdict",
			  verdict_name(i->verdict), "why", i->why ? json_text(i->why) : NULL,
			  "time", (json_int_t)time(NULL), "waited", verdict_waits(i->verdict),
			  "refused", take_ptr(l->refused), "quarantined", take_ptr(l->quarantined),
			  "transcript", l->transcript ? json_string(l->transcript) : NULL));
	free(take_ptr(l->transcript));
}

static int settle_task(struct loop *l, struct task *t, struct err *err)
{
	const struct intent *i = &l->state.intent;
	int r = 0;

	if (verdict_gives_back(i->verdict)) {
		/* The attempt is returned only if it was counted: this function may run twice
		 * for one iteration. */
		return t->attempts > i->attempts || t->state == TASK_BUSY
			       ? work_give_back(l->work, t, err)
			       : 0;
	}
	r = work_settle(l->work, t, i->state, i->state == TASK_DONE ? NULL : i->why,
			i->state == TASK_DONE ? i->commit : NULL, err);
	return r;
}

/* A provider that was not available does not use up the loop's limits. */
static void count_wait(struct loop_state *s)
{
	if (verdict_waits(s->intent.verdict))
		s->waited++;
	if (s->intent.verdict == VERDICT_OUTAGE) {
		s->outage = s->outage ? s->outage : (uint64_t)time(NULL);
		s->tries++;
	} else if (s->intent.verdict != VERDICT_INTERRUPTED) {
		s->outage = s->tries = 0;
	}
}

int round_settle(struct loop *l, struct task *t, struct err *err)
{
	struct loop_state *s = &l->state;
	bool progress = s->intent.progress;
	int r = 0;

	count_stuck(l, t, progress);
	if (t && l->mode != LOOP_PLAN)
		r = settle_task(l, t, err);
	if (r < 0)
		return r;
	left_behind_note(l, t);
	if (s->intent.state == TASK_DONE)
		tree_commit_marks(l, t);
	if (s->intent.verdict == VERDICT_BLOCKED || s->intent.verdict == VERDICT_DECIDE) {
		state_task_set(s, t ? t->id : "", "question", json_text(s->intent.why));
		if (t)
			notify_question(l, t->id, s->intent.why);
	}
	add_record(l, t);
	count_wait(s);
	intent_clear(&s->intent);
	return state_save(s, err);
}

/* Logs the verdict of the host, for `ralph events`, next to the events from inside the sandbox. */
static void log_verdict(struct loop *l, const struct task *t, const struct judgement *j)
{
	const struct loop_state *s = &l->state;
	struct err err = {0};

	if (live_event(&l->q.places, l->build.spec->name, "loop-iteration",
		       json_pack("{sI so* ss so so* sI}", "iteration", (json_int_t)s->iterations,
				 "task", t ? json_text(t->id) : NULL, "verdict",
				 verdict_name(j->verdict), "why", json_text(s->intent.why),
				 "commit", s->intent.commit ? json_text(s->intent.commit) : NULL,
				 "micro_usd", (json_int_t)(s->micro_usd - s->cost_mark)),
		       &err) < 0)
		log_debug("loop", "%s", err.msg);
}

static void show_verdict(struct loop *l, const struct judgement *j)
{
	const struct loop_state *s = &l->state;
	enum term_style style = j->verdict == VERDICT_DONE ? STYLE_GREEN
				: j->progress		   ? STYLE_CYAN
							   : STYLE_YELLOW;

	show_line(&l->show, style, "iteration %llu: %s, %s; " SHOW_USD,
		  (unsigned long long)s->iterations, verdict_name(j->verdict), s->intent.why,
		  SHOW_USD_ARGS(s->micro_usd - s->cost_mark));
}

void round_tell(struct loop *l, const struct task *t, const struct judgement *j)
{
	log_verdict(l, t, j);
	show_verdict(l, j);
}
