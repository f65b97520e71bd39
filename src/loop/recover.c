#include "loop/loop.h"

#include "loop/job.h"
#include "loop/loop-usage.h"

/*
 * Finishes the journal's entry when a loop is opened. No step is done twice: each one either leaves
 * the entry for the next start, or clears it in the same write that counts it.
 */

static void on_settled(struct job *j)
{
	ev_stop(j->ev);
}

static void on_output(struct job *j, bool is_err, const char *p, size_t n)
{
}

/*
 * What the agent made of the repository comes out of its sandbox when that starts again; a command
 * begins only after that.
 */
static int settle_sandbox(struct loop *l, struct err *err)
{
	static const struct job_handler handler = {.output = on_output, .ended = on_settled};
	cleanup_strv struct strv argv = {0}, env = {0};
	struct job_command c = {.argv = &argv, .env = &env, .input = -1};
	struct job j = {.handler = &handler};
	int r = loop_sandbox_start(l, err);

	if (l->q.direct) {
		c.whole = l->root;
		loop_sandbox_host_env(&env);
	}
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, ":");
	if (r == 0)
		r = job_start(&j, l->ev, &l->q.places, l->build.spec->name, &c, err);
	if (r < 0)
		return r;
	r = ev_run(l->ev, err);
	job_done(&j);
	return r;
}

/* The agent was interrupted: the iteration counts, the agent's words are lost, and its commits
 * are checked. */
static int cut_off(struct loop *l, struct task *t, struct err *err)
{
	struct intent *i = &l->state.intent;
	struct judgement j;
	struct loop_usage m;
	int r = l->repo ? settle_sandbox(l, err) : loop_sandbox_build(l, err);

	if (r < 0)
		return r;
	show_line(&l->show, STYLE_YELLOW, "iteration %llu was cut off",
		  (unsigned long long)l->state.iterations);
	loop_usage_read(&l->q.places, l->build.spec->name, &m);
	(void)loop_usage_take(&l->state, &m);
	i->end = RUN_INTERRUPTED;
	r = commits_check(l, err);
	if (r < 0)
		return r;
	i->phase = INTENT_VERIFY;
	r = state_save(&l->state, err);
	if (r == 0)
		r = round_verify(l, t, &j, err);
	loop_sandbox_stop(l);
	return r < 0 ? r : round_settle(l, t, err);
}

static int verify_again(struct loop *l, struct task *t, struct err *err)
{
	struct judgement j;
	int r;

	show_line(&l->show, STYLE_YELLOW, "iteration %llu was cut off before its verdict",
		  (unsigned long long)l->state.iterations);
	r = round_verify(l, t, &j, err);
	loop_sandbox_stop(l);
	return r < 0 ? r : round_settle(l, t, err);
}

int loop_recover(struct loop *l, struct err *err)
{
	struct intent *i = &l->state.intent;
	struct task *t = i->task && l->work ? work_task(l->work, i->task) : NULL;

	/* The user may have removed the repository or the task in the meantime. */
	if (i->phase != INTENT_NONE && (!i->head != !l->repo || (i->task && !t))) {
		intent_clear(i);
		return state_save(&l->state, err);
	}
	switch (i->phase) {
	case INTENT_ITERATE:
		return cut_off(l, t, err);
	case INTENT_VERIFY:
		return verify_again(l, t, err);
	case INTENT_SETTLE:
		return round_settle(l, t, err);
	case INTENT_NONE:
	case INTENT_N:
		break;
	}
	return 0;
}
