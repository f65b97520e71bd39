#include "loop/loop.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "loop/fallback/fallback.h"
#include "loop/notify/notify.h"
#include "loop/review/review.h"
#include "loop/workers/parallel.h"

void loop_show_news(struct loop *l)
{
	for (size_t i = 0; l->work && i < l->work->news.n; i++)
		show_line(&l->show, STYLE_YELLOW, "%s", l->work->news.v[i]);
	if (l->work) {
		strv_done(&l->work->news);
		strv_init(&l->work->news);
	}
}

/* A task without a verify command is done by the agent's word and a commit. */
static char *all_done(const struct loop *l, size_t total)
{
	cleanup_free char *all = total == 1 ? xstrdup("the task is done")
					    : xasprintf("all %zu tasks are done", total);
	size_t proved = verify_proved(l);

	if (proved == total)
		return xasprintf("%s and verified", all);
	return proved == 0
		       ? xasprintf("%s; no command verifies %s", all, total == 1 ? "it" : "them")
		       : xasprintf("%s; commands verify %zu of them", all, proved);
}

/* Returns why no task can be worked on. Reasons that need the user most are checked first. */
static int end_of_work(struct loop *l, char **ret_reason)
{
	struct work_counts c = work_count(l->work, (unsigned)l->limits.max_attempts);

	if (c.done == c.total) {
		*ret_reason = all_done(l, c.total);
		return LOOP_DONE;
	}
	if (c.decide) {
		*ret_reason = xasprintf("%zu of %zu tasks need a decision", c.decide, c.total);
		return LOOP_DECIDE;
	}
	if (c.blocked) {
		*ret_reason = xasprintf("%zu of %zu tasks are blocked", c.blocked, c.total);
		return LOOP_BLOCKED;
	}
	*ret_reason = xasprintf("%zu of %zu tasks are done; none of the others gets any further",
				c.done, c.total);
	return LOOP_STUCK;
}

/* A loop without a list ends by the verdict of its last iteration. */
static int end_of_prompt(struct loop *l, const struct judgement *j, char **ret_reason)
{
	switch ((unsigned)j->verdict) {
	case VERDICT_DONE:
		*ret_reason = xasprintf("the agent says it is complete; %s",
					l->config->loop.verify.n ? "the checks passed"
								 : "no command verifies it");
		return LOOP_DONE;
	case VERDICT_BLOCKED:
		*ret_reason = xstrdup("the agent cannot go on");
		return LOOP_BLOCKED;
	case VERDICT_DECIDE:
		*ret_reason = xstrdup("the agent needs a decision");
		return LOOP_DECIDE;
	default:
		break;
	}
	if (state_task_uint(&l->state, "", "stuck") >= l->limits.max_stuck) {
		*ret_reason = xasprintf("%llu iterations without progress",
					(unsigned long long)l->limits.max_stuck);
		return LOOP_STUCK;
	}
	return -1;
}

static uint64_t random_number(void)
{
	uint64_t v = 0;

	return getrandom(&v, sizeof(v), 0) < 0 ? (uint64_t)getpid() : v;
}

/* Waits; returns -1 to continue. */
static int wait_for(struct loop *l, uint64_t until, const char *what, char **ret_reason)
{
	int r = wait_until(l, until, what);

	if (r == 0)
		return -1;
	*ret_reason = xstrdup(r == LOOP_PAUSED ? "paused" : "stopped");
	return r;
}

static int wait_limit(struct loop *l, uint64_t resets_at, const char *what, char **ret_reason)
{
	uint64_t now = (uint64_t)time(NULL);
	char when[SHOW_WHEN_SIZE];

	if (!l->q.no_wait)
		return wait_for(l, limits_wait_until(now, resets_at, random_number()), what,
				ret_reason);
	*ret_reason = resets_at > now ? xasprintf("the provider is not available: %s, until %s",
						  what, show_when(resets_at, when))
				      : xasprintf("the provider is not available: %s", what);
	return LOOP_PROVIDER;
}

/* A limit that another worker of the loop has met. With other agents to turn to, this one goes on. */
static int hold(struct loop *l, char **ret_reason)
{
	static const char what[] = "the provider's limit is reached by another worker";
	int r;

	if (!wait_told(l) || l->fallback)
		return -1;
	if (l->q.no_wait) {
		*ret_reason = xasprintf("the provider is not available: %s", what);
		return LOOP_PROVIDER;
	}
	r = wait_while_told(l, what);
	if (r == 0)
		return -1;
	*ret_reason = xstrdup(r == LOOP_PAUSED ? "paused" : "stopped");
	return r;
}

static int wait_outage(struct loop *l, char **ret_reason)
{
	const struct loop_state *s = &l->state;
	uint64_t max = (l->config->loop.outage_ms + 999) / 1000, until;
	char when[SHOW_WHEN_SIZE];

	until = limits_outage_until((uint64_t)time(NULL), s->outage, s->tries, max,
				    random_number());
	until = fallback_cut(l, until);
	if (!l->q.no_wait && until)
		return wait_for(l, until, "the provider is not available", ret_reason);
	*ret_reason =
		xasprintf("the provider is not available since %s", show_when(s->outage, when));
	return LOOP_PROVIDER;
}

/* Returns the exit code that an iteration's verdict asks for; -1: continue. */
static int after(struct loop *l, const struct judgement *j, char **ret_reason)
{
	if (fallback_takes_over(l, j))
		return -1;
	if (j->verdict == VERDICT_LIMITED)
		return wait_limit(l, l->resets_at, "the provider's limit is reached", ret_reason);
	if (j->verdict == VERDICT_OUTAGE)
		return wait_outage(l, ret_reason);
	if (j->verdict == VERDICT_CREDENTIAL) {
		*ret_reason = xstrdup("the provider does not accept the credential");
		return LOOP_CREDENTIAL;
	}
	if (j->verdict == VERDICT_BROKEN) {
		*ret_reason = xstrdup("the agent cannot be run");
		return EXIT_RUNTIME;
	}
	if (!l->work && l->mode != LOOP_PLAN)
		return end_of_prompt(l, j, ret_reason);
	return -1;
}

static int asked_to_end(struct loop *l, char **ret_reason)
{
	control_look(&l->control);
	if (l->control.stop) {
		*ret_reason = xstrdup("stopped");
		return 128 + l->control.stop;
	}
	if (l->control.pause) {
		*ret_reason = xstrdup("paused");
		return LOOP_PAUSED;
	}
	return -1;
}

struct loop_used loop_used(const struct loop *l)
{
	const struct loop_state *s = &l->state;

	return (struct loop_used){s->iterations - s->waited, s->micro_usd, s->active_ms};
}

static int limit_reached(struct loop *l, char **ret_reason)
{
	const struct loop_used used = loop_used(l);
	cleanup_free char *which = limits_reached(&l->limits, &used);

	if (!which)
		return -1;
	if (l->mode == LOOP_PLAN) {
		*ret_reason = xstrdup("the plan was worked on");
		return LOOP_DONE;
	}
	*ret_reason = xasprintf("the limit of %s is reached, and there is work left", which);
	return LOOP_LIMIT;
}

/* Returns the exit code, or -1 after an iteration; *ret_error is -errno when one failed. */
static int step(struct loop *l, char **ret_reason, int *ret_error, struct err *err)
{
	struct judgement j = {0};
	struct task *t = NULL;
	bool ran;
	int code = asked_to_end(l, ret_reason);

	if (code >= 0)
		return code;
	*ret_error = answers_take(l, err);
	if (*ret_error < 0)
		return -1;
	if (json_object_size(l->state.workers) > 0) {
		*ret_error = parallel_run(l, &ran, &code, err);
		if (*ret_error < 0 || code >= 0)
			return code;
		code = asked_to_end(l, ret_reason);
		if (code < 0 && json_object_size(l->state.workers) > 0)
			code = limit_reached(l, ret_reason);
		/* A task of a waiting worker must not be given to another agent. */
		if (code >= 0 || json_object_size(l->state.workers) > 0)
			return code;
	}
	if (l->work) {
		*ret_error = work_reload(l->work, err);
		loop_show_news(l);
		if (*ret_error < 0)
			return -1;
		t = work_next(l->work, (unsigned)l->limits.max_attempts);
		if (!t && l->mode != LOOP_PLAN)
			return end_of_work(l, ret_reason);
	}
	code = limit_reached(l, ret_reason);
	if (code < 0)
		code = hold(l, ret_reason);
	if (code >= 0)
		return code;
	if (limits_reserve_reached(l->config->loop.reserve, l->weekly_used)) {
		l->weekly_used = 0; /* the next agent reports the value after the wait */
		code = wait_limit(l, l->weekly_resets_at, "what is left of the week is reserved",
				  ret_reason);
		if (code >= 0)
			return code;
	}
	notify_look(l);
	fallback_return(l);
	*ret_error = parallel_run(l, &ran, &code, err);
	if (*ret_error < 0 || ran)
		return code;
	*ret_error = round_run(l, t, &j, err);
	loop_show_news(l);
	if (*ret_error < 0)
		return -1;
	ending_progress(l);
	return after(l, &j, ret_reason);
}

/* True when all work is done, but the loop was killed before its end. No sandbox is started then. */
static bool is_all_done(const struct loop *l)
{
	const struct work_counts c = l->work ? work_count(l->work, 0) : (struct work_counts){0};

	return c.total > 0 && c.done == c.total && l->state.intent.phase == INTENT_NONE &&
	       json_object_size(l->state.workers) == 0;
}

int loop_run(struct loop *l, struct err *err)
{
	cleanup_free char *reason = NULL;
	int code = -1, r;

	loop_show_news(l);
	if (l->idle) {
		code = end_of_work(l, &reason);
		return ending_idle(l, code, reason);
	}
	status_write(l, "starting", 0);
	if (is_all_done(l)) {
		code = end_of_work(l, &reason);
		l->over = true;
		return ending(l, code, reason);
	}
	r = loop_preflight(l, err);
	if (r == 0)
		r = review_sandbox_check(l, err);
	if (r < 0)
		tree_forget_branch(l);
	if (r == 0)
		r = parallel_open(l, err);
	if (r == 0)
		r = loop_recover(l, err);
	if (r == 0 && l->q.mode != LOOP_RESUME)
		r = loop_begin_anew(l, err);
	if (r == 0 && l->mode != LOOP_PLAN)
		r = verify_baseline(l, err);
	while (r == 0 && code < 0) {
		code = step(l, &reason, &r, err);
		if (r == -ECANCELED) { /* stopped during verification */
			r = 0;
			code = asked_to_end(l, &reason);
		}
	}
	l->over = r == 0 && code == LOOP_DONE;
	return r < 0 ? r
		     : ending(l, code,
			      reason	      ? reason
			      : l->stopped_by ? l->stopped_by
					      : "a worker could not go on");
}
