#include "loop/review/review.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "check/selftest.h"
#include "live/live.h"
#include "loop/iteration.h"
#include "loop/loop-usage.h"

extern char **environ;

/*
 * The user's settings for the reviewer: its agent and its limits, and nothing that leads out of the
 * sandbox. It borrows from the loop's settings and is not freed.
 */
static struct config reviewers_config(const struct loop *l)
{
	struct config c = *l->config;

	c.agent = (char *)(uintptr_t)l->reviewer->name;
	c.env.set = c.env.pass = (struct strv){0};
	c.mounts = NULL;
	c.n_mounts = 0;
	c.packages = (struct strv){0};
	c.network.tier = POLICY_ALLOWLIST;
	c.network.provider_tools = (char *)(uintptr_t) "none";
	return c;
}

static int make_build(const struct loop *l, const struct config *c, struct build *ret,
		      struct err *err)
{
	const struct build_input in = {
		.places = &l->q.places,
		.config = c,
		.path = l->root,
		.environ = environ,
		.run_agent = true,
		.home_of = SPEC_HOME_WORKER,
		.review = true,
		.credentials = l->q.credentials,
		.cred_line = l->q.cred_line,
		.make_image = true,
		.argv0 = l->reviewer->program,
	};
	int r = build_spec(&in, ret, err);

	/* The author's sandbox must never serve for its review. */
	if (r == 0 && l->build.spec && streq(ret->spec->name, l->build.spec->name))
		r = err_usage(err,
			      "the loop's sandbox has the name of its reviewer's, '%s'; "
			      "use another --name",
			      ret->spec->name);
	return r < 0 ? err_wrap(err, r, "review") : 0;
}

int review_sandbox_check(struct loop *l, struct err *err)
{
	struct config c;
	struct build b = {0};
	int r;

	if (!l->reviewer)
		return 0;
	c = reviewers_config(l);
	r = make_build(l, &c, &b, err);
	build_done(&b);
	return r;
}

int review_check_credentials(struct loop *l, struct err *err)
{
	struct config c = reviewers_config(l);

	return loop_check_credentials_of(l, l->reviewer, &c, err);
}

/* Adds the usage of a sandbox that is removed next, so that nothing is counted twice. */
static void count_usage(struct loop *l, const char *name, const struct agent_result *said)
{
	struct loop_state *s = &l->state;
	struct loop_usage m;

	loop_usage_read(&l->q.places, name, &m);
	if (said && m.micro_usd == 0 && tokens_all(&m.tokens) == 0)
		m = (struct loop_usage){
			said->micro_usd,
			{said->input, said->output, said->cache_read, said->cache_write}};
	s->micro_usd += m.micro_usd;
	s->tokens.input += m.tokens.input;
	s->tokens.output += m.tokens.output;
	s->tokens.cache_read += m.tokens.cache_read;
	s->tokens.cache_write += m.tokens.cache_write;
}

static int drop(struct loop *l, const char *name, const struct agent_result *said, struct err *err)
{
	cleanup_free char *kept = NULL;

	count_usage(l, name, said);
	return clear_sandbox(l, name, &kept, err);
}

/* The review may spend what an iteration may, and no more than is left of the loop's limit. */
static uint64_t limit_spending(const struct loop *l, struct sandbox_spec *spec)
{
	uint64_t may = l->config->loop.iteration_micro_usd, limit = l->limits.micro_usd;
	uint64_t left = limit > l->state.micro_usd ? limit - l->state.micro_usd : 1;

	if (limit && (!may || left < may))
		may = left;
	if (may && (!spec->budget.micro_usd || may < spec->budget.micro_usd))
		spec->budget.micro_usd = may;
	return may;
}

static int start(struct loop *l, struct sandbox_spec *spec, int *ret_hold, struct err *err)
{
	int r = drop(l, spec->name, NULL, err); /* left by a loop that was killed */

	if (r == 0)
		r = live_start_up(&l->q.places, spec, 0, ret_hold, err);
	if (r == 0)
		r = selftest_first_use(&l->q.places, spec, SELFTEST_OF_SANDBOX, *ret_hold, err);
	return r;
}

/* All agents that are programs have this option. */
static void make_argv(const struct loop *l, const struct build *b, struct strv *ret)
{
	const char *model = l->config->loop.review_model;

	strv_push(ret, b->argv0);
	for (size_t i = 0; l->reviewer->headless[i]; i++)
		strv_push(ret, l->reviewer->headless[i]);
	if (model && *model) {
		strv_push(ret, "--model");
		strv_push(ret, model);
	}
}

static int open_log(const struct loop *l, const char *ext)
{
	cleanup_free char *name =
		xasprintf("review-%03llu.%s", (unsigned long long)l->state.iterations, ext);

	(void)unlinkat(l->logs, name, 0);
	return openat(l->logs, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int run(struct loop *l, struct iteration *it, struct review_run *ret, struct err *err)
{
	cleanup_fd int log = open_log(l, "jsonl"), err_log = open_log(l, "stderr");
	int r;

	it->log = log;
	it->err_log = err_log;
	l->active_mark = l->state.active_ms;
	r = iteration_run(it, err);
	if (r < 0)
		return r;
	l->state.active_ms += it->ms > it->waited_ms ? it->ms - it->waited_ms : 0;
	round_find_cause(l, it);
	if (it->end == RUN_LIMITED)
		l->resets_at = it->said.resets_at;
	ret->end = it->end;
	ret->text = it->said.text ? xstrdup(it->said.text) : NULL;
	if (it->end != RUN_OK && it->failure)
		show_quote(&l->show, it->failure, 5);
	return 0;
}

static int run_in(struct loop *l, const struct build *b, const char *prompt, uint64_t allowance,
		  struct review_run *ret, struct err *err)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	struct iteration it = {
		.ev = l->ev,
		.control = &l->control,
		.show = &l->show,
		.places = &l->q.places,
		.sandbox = b->spec->name,
		.agent = l->reviewer,
		.argv = &argv,
		.env = &env,
		.prompt = prompt,
		.prompt_len = strlen(prompt),
		.total_ms = round_time(l),
		.idle_ms = l->config->loop.idle_ms,
		.grace_ms = l->config->loop.grace_ms,
		.allowance = allowance,
		.waits = loop_asks_wait,
		.arg = l,
	};
	struct err gone = {0};
	int r;

	make_argv(l, b, &argv);
	r = run(l, &it, ret, err);
	if (drop(l, b->spec->name, r == 0 ? &it.said : NULL, &gone) < 0)
		log_warn("loop", "%s", gone.msg);
	iteration_done(&it);
	return r;
}

int review_sandbox_run(struct loop *l, const char *prompt, struct review_run *ret, struct err *err)
{
	struct config c = reviewers_config(l);
	struct build b = {0};
	cleanup_fd int hold = -1;
	uint64_t allowance = 0;
	int r = make_build(l, &c, &b, err);

	*ret = (struct review_run){.end = RUN_FAILED};
	if (r == 0) {
		allowance = limit_spending(l, b.spec);
		r = start(l, b.spec, &hold, err);
	}
	if (r == 0)
		r = run_in(l, &b, prompt, allowance, ret, err);
	build_done(&b);
	return r;
}

void review_run_done(struct review_run *r)
{
	free(r->text);
	*r = (struct review_run){0};
}
