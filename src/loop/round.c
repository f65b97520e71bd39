#include "loop/loop.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/fallback/fallback.h"
#include "loop/iteration.h"
#include "loop/tree/loose.h"
#include "loop/review/review.h"
#include "loop/loop-usage.h"
#include "loop/report/report.h"
#include "live/autosave.h"
#include "live/live.h"
#include "repo/repo-modules.h"

#define EMPTY_TRIES 3 /* beyond the first */
#define LAST_MAX (16 * KiB)
#define OFFENCES_SHOWN 10

/* ---- before ---- */

static int begin(struct loop *l, struct task *t, struct err *err)
{
	struct loop_state *s = &l->state;
	const struct work_where at = loop_where(l);
	struct repo_oid head = {0};
	int r = l->repo ? repo_head(l->repo, &head, NULL, err) : 0;

	if (r == 0 && l->repo)
		r = repo_modules_note(l->repo, l->build.spec ? l->build.spec->name : NULL, err);
	if (r < 0)
		return r;
	intent_clear(&s->intent);
	s->intent.phase = INTENT_ITERATE;
	s->intent.head = l->repo ? xstrdup(head.hex) : NULL;
	s->intent.task = t ? xstrdup(t->id) : NULL;
	s->intent.attempts = t ? t->attempts : 0;
	s->iterations++;
	s->cost_mark = s->micro_usd;
	s->tokens_mark = s->tokens;
	/* A task that the user has reopened starts again with no stuck iterations. */
	if (t && t->attempts == 0)
		state_task_set(s, t->id, "stuck", json_integer(0));
	/* The base stays the same over all attempts, so that earlier commits count for this task
	 * too. */
	if (t && l->repo && !state_task_str(s, t->id, "base"))
		state_task_set(s, t->id, "base", json_string(l->q.base ? l->q.base : head.hex));
	r = state_save(s, err);
	if (r == 0 && t)
		r = work_begin(l->work, t, err);
	if (r == 0 && l->work)
		r = work_put_copy(l->work, l->root_fd, err);
	if (r == 0 && l->mode == LOOP_PLAN) {
		l->draft = draft_free(l->draft);
		r = draft_put(&at, l->q.tasks, &l->draft, err);
	}
	return r;
}

static int open_log(struct loop *l, const char *ext)
{
	cleanup_free char *name =
		xasprintf("iteration-%03llu.%s", (unsigned long long)l->state.iterations, ext);

	(void)unlinkat(l->logs, name, 0);
	return openat(l->logs, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* ---- the agent ---- */

/* The time that an agent waits for a person is nobody's work. */
static uint64_t worked_ms(const struct loop *l, const struct iteration *it)
{
	uint64_t ms = now_ms() - l->round_began;

	return ms > it->waited_ms ? ms - it->waited_ms : 0;
}

static uint64_t on_tick(void *arg, const struct iteration *it, const char *tool)
{
	struct loop *l = arg;
	struct loop_usage m;

	loop_usage_read(&l->q.places, l->build.spec->name, &m);
	(void)loop_usage_take(&l->state, &m);
	free(l->tool);
	l->tool = *tool ? xstrdup(tool) : NULL;
	l->state.active_ms = l->active_mark + worked_ms(l, it);
	status_write(l, "iterating", 0);
	loop_asks_tell(l);
	return l->state.micro_usd - l->state.cost_mark;
}

/* The gateway's count is used; the agent's own count is used only without one. */
static void account(struct loop *l, const struct iteration *it)
{
	struct loop_state *s = &l->state;
	struct loop_usage m;

	loop_usage_read(&l->q.places, l->build.spec->name, &m);
	(void)loop_usage_take(s, &m);
	if (s->micro_usd != s->cost_mark || tokens_all(&s->tokens) != tokens_all(&s->tokens_mark))
		return;
	s->micro_usd += it->said.micro_usd;
	s->tokens.input += it->said.input;
	s->tokens.output += it->said.output;
	s->tokens.cache_read += it->said.cache_read;
	s->tokens.cache_write += it->said.cache_write;
}

static int run_agent(struct loop *l, struct iteration *it, struct err *err)
{
	int r = 0;

	for (int i = 0; i <= EMPTY_TRIES; i++) {
		uint64_t began = now_ms();

		iteration_done(it);
		r = iteration_run(it, err);
		l->state.active_ms = l->active_mark + worked_ms(l, it);
		if (r < 0 || it->end != RUN_EMPTY || control_wants_end(&l->control))
			break;
		/* A command that prints nothing but makes a commit has not failed. */
		if (!it->stream && it->code == 0 && proposal_any(l)) {
			it->end = RUN_OK;
			break;
		}
		if (i < EMPTY_TRIES)
			show_line(&l->show, STYLE_YELLOW,
				  "the agent printed nothing in %llu ms; once more",
				  (unsigned long long)(now_ms() - began));
	}
	return r;
}

/* Returns what the host knows of a failed run, whatever the agent says of it: a login that has ended
 * looks like an outage from inside, and most agents do not say why they failed. */
static enum run_end seen_by_host(const struct loop *l, const char *sandbox, enum run_end end)
{
	cleanup_json json_t *live = NULL;
	struct err ignored = {0};

	if (live_inspect(&l->q.places, sandbox, &live, &ignored) < 0 || !live)
		return end;
	if (json_is_true(json_object_get(live, "login_ended")))
		return RUN_CREDENTIAL;
	return json_is_true(json_object_get(live, "provider_down")) ? RUN_OUTAGE : end;
}

void round_find_cause(struct loop *l, struct iteration *it)
{
	if (it->end == RUN_TOO_LONG && it->total_ms != l->config->loop.iteration_ms)
		it->end = RUN_OVERTIME;
	if (it->end == RUN_FAILED || it->end == RUN_EMPTY || it->end == RUN_SILENT ||
	    it->end == RUN_TOO_LONG || it->end == RUN_OUTAGE)
		it->end = seen_by_host(l, it->sandbox, it->end);
	/* The time that an agent spends on a provider that is not available does not count. */
	if (it->end == RUN_LIMITED || it->end == RUN_OUTAGE)
		l->state.active_ms = l->active_mark;
}

static void show_end(struct loop *l, const struct iteration *it)
{
	if (it->said.text && !it->shown)
		show_quote(&l->show, it->said.text, SHOW_WORDS_LINES);
	if (it->end == RUN_OK)
		return;
	show_line(&l->show, STYLE_RED, "%s (exit %d)", run_end_name(it->end), it->code);
	if (it->failure && (!it->said.text || !streq(it->failure, it->said.text)))
		show_quote(&l->show, it->failure, 5);
}

/* Saves the parts of the run's result that a later process needs. */
static void note_run(struct loop *l, const struct iteration *it)
{
	struct intent *i = &l->state.intent;

	i->end = it->end;
	i->last_words = it->end == RUN_OK ? it->last_words.kind : LAST_WORDS_NONE;
	free(i->words);
	i->words = it->last_words.text ? xstrdup(it->last_words.text) : NULL;
	i->ms = it->ms;
	l->resets_at = it->said.resets_at;
	l->weekly_used = it->said.weekly_used;
	l->weekly_resets_at = it->said.weekly_resets_at;
	if (i->task && it->failure && it->end != RUN_OK && it->end != RUN_OUTAGE) {
		cleanup_free char *last =
			xasprintf("%s: %.4000s", run_end_name(it->end), it->failure);

		state_task_set(&l->state, i->task, "last", json_text(last));
	}
}

/* An iteration ends with its own time, or with that of the loop. */
uint64_t round_time(const struct loop *l)
{
	const struct loop_used used = loop_used(l), left = limits_left(&l->limits, &used);
	uint64_t own = l->config->loop.iteration_ms;

	if (!l->limits.duration_ms || (own && own <= left.active_ms))
		return own;
	return left.active_ms ? left.active_ms : 1;
}

static int run_iteration(struct loop *l, const struct task *t, struct err *err)
{
	cleanup_free char *prompt = NULL;
	cleanup_strv struct strv argv = {0}, env = {0};
	cleanup_fd int log = -1, err_log = -1;
	struct iteration it = {
		.ev = l->ev,
		.control = &l->control,
		.show = &l->show,
		.places = &l->q.places,
		.sandbox = l->build.spec->name,
		.agent = l->agent,
		.argv = &argv,
		.env = &env,
		.whole = l->q.direct ? l->root : NULL,
		.total_ms = round_time(l),
		.idle_ms = l->config->loop.idle_ms,
		.grace_ms = l->config->loop.grace_ms,
		.allowance = l->allowance,
		.tick = on_tick,
		.waits = loop_asks_wait,
		.arg = l,
	};
	int r = prompt_make(l, t, &prompt, err);

	if (r < 0)
		return r;
	r = loop_sandbox_agent_argv(l, &argv, err);
	if (r < 0)
		return r;
	loop_sandbox_agent_env(l, &env);
	it.prompt = prompt;
	it.prompt_len = strlen(prompt);
	log = open_log(l, "jsonl");
	err_log = open_log(l, "stderr");
	it.log = log;
	it.err_log = err_log;
	l->round_began = now_ms();
	l->active_mark = l->state.active_ms;
	r = run_agent(l, &it, err);
	if (r == 0) {
		round_find_cause(l, &it);
		account(l, &it);
		show_end(l, &it);
		note_run(l, &it);
	}
	iteration_done(&it);
	return r;
}

/* ---- after ---- */

static void show_offences(struct loop *l, const struct proposals *p)
{
	for (size_t i = 0; i < p->offences.n && i < OFFENCES_SHOWN; i++)
		show_line(&l->show, STYLE_YELLOW, "put back: %s", p->offences.v[i]);
}

static int read_proposals(struct loop *l, struct task *t, struct err *err)
{
	cleanup_proposals struct proposals p = {0};
	int r = work_proposals(l->work, t, l->root_fd, &p, err);

	if (r < 0)
		return r;
	l->state.intent.claims = p.claims_done;
	show_offences(l, &p);
	return 0;
}

static int read_plan(struct loop *l, struct err *err)
{
	cleanup_proposals struct proposals p = {0};
	int r = draft_take(l->draft, &p, err);

	if (r < 0)
		return r;
	show_offences(l, &p);
	show_line(&l->show, STYLE_NONE,
		  r ? "there is a new list of work" : "the list is as it was");
	return 0;
}

static int verify_task(struct loop *l, const struct task *t, struct facts *f, char **ret_output,
		       struct err *err)
{
	cleanup_(verify_result_done) struct verify_result v = {0};
	cleanup_buf struct buf why;
	int r;

	buf_init(&why, LAST_MAX);
	status_write(l, "verifying", 0);
	r = verify_run(l, t, &v, err);
	if (r < 0)
		return r;
	f->verified = v.ok;
	f->proved = v.commands > 0;
	*ret_output = take_ptr(v.output);
	f->loose = !loose_none(l, &why);
	f->better = l->state.failing != UINT64_MAX && v.failing < l->state.failing;
	if (f->better)
		l->state.failing = v.failing;
	if (v.report)
		(void)buf_printf(&why, "The checks say:\n\n%s", v.report);
	if (t && (!f->verified || f->loose))
		state_task_set(&l->state, t->id, "last", json_text(buf_str(&why)));
	else if (t)
		(void)json_object_del(state_task(&l->state, t->id), "last");
	return 0;
}

/* A task that is done otherwise is done when its reviewer approves. */
static int judge(struct loop *l, struct task *t, struct facts *f, const char *output,
		 struct judgement *ret, struct err *err)
{
	int r;

	verdict_judge(f, ret);
	if (ret->verdict != VERDICT_DONE || !l->reviewer || !t)
		return 0;
	r = review_task(l, t, output, &f->review, err);
	f->approved = r == 0 && f->review == VERDICT_DONE;
	verdict_judge(f, ret);
	return r;
}

int round_verify(struct loop *l, struct task *t, struct judgement *ret, struct err *err)
{
	cleanup_free char *output = NULL;
	struct intent *i = &l->state.intent;
	struct facts f = {
		.end = i->end,
		.last_words = i->last_words,
		.has_task = t != NULL,
		.claims = i->claims,
		.new_head = i->new_head,
		.rejected = i->rejected,
		.committed = i->committed,
		.needs_commit = t != NULL && l->repo != NULL,
	};
	bool says_done = i->claims || i->last_words == LAST_WORDS_COMPLETE;
	int r = 0;

	if (i->end == RUN_OK && l->mode != LOOP_PLAN && !f.rejected && (says_done || f.new_head))
		r = verify_task(l, t, &f, &output, err);
	if (r < 0)
		return r;
	/* Without a list, only the promise decides; a plan is not verified. */
	if (l->mode == LOOP_PLAN && i->end == RUN_OK)
		f.verified = true;
	r = judge(l, t, &f, output, ret, err);
	if (r < 0)
		return r;
	i->phase = INTENT_SETTLE;
	i->verdict = ret->verdict;
	i->state = ret->state;
	i->progress = ret->progress;
	free(i->why);
	i->why = xstrdup(
		i->words && (ret->verdict == VERDICT_BLOCKED || ret->verdict == VERDICT_DECIDE)
			? i->words
			: ret->why);
	return state_save(&l->state, err);
}

int round_run(struct loop *l, struct task *t, struct judgement *ret, struct err *err)
{
	int r = begin(l, t, err);
	bool waits = r == 0 && review_waits(l, t);

	l->task = t;
	if (r < 0)
		return r;
	show_line(&l->show, STYLE_BOLD, "iteration %llu%s%s%s%s",
		  (unsigned long long)l->state.iterations, t ? ": " : "", t ? t->id : "",
		  t && t->title ? " " : "", t && t->title ? t->title : "");
	status_write(l, "iterating", 0);
	r = loop_sandbox_start(l, err);
	if (r == 0)
		r = proposal_settle(l, "", err);
	if (r == 0) {
		fallback_begun(l);
		transcripts_name(l, t);
	}
	if (r == 0 && !waits)
		r = run_iteration(l, t, err);
	if (r == 0)
		r = commits_check(l, err);
	if (r == 0 && t && l->mode != LOOP_PLAN)
		r = read_proposals(l, t, err);
	l->state.intent.claims |= waits; /* the agent said so before the review */
	if (r == 0 && l->draft)
		r = read_plan(l, err);
	if (r == 0) {
		l->state.intent.phase = INTENT_VERIFY;
		r = state_save(&l->state, err);
	}
	if (r == 0)
		r = round_verify(l, t, ret, err);
	if (r == 0)
		round_tell(l, t, ret);
	if (l->hold >= 0)
		refused_hosts_tell(l);
	loop_sandbox_stop(l);
	quarantined_note(l);
	/* The conversation is exported by a separate process; the loop does not wait for it. */
	if (l->build.spec)
		(void)autosave_now(&l->q.places, l->build.spec->name);
	if (r < 0)
		return r;
	r = round_settle(l, t, err);
	l->task = NULL;
	return r;
}
