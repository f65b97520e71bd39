#include "loop/review/review.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* ---- the state of a review ---- */

static json_t *record_of(const struct loop *l, const struct task *t)
{
	return json_object_get(json_object_get(l->state.tasks, t->id), "review");
}

static const char *text_of(const json_t *record, const char *key)
{
	return json_string_value(json_object_get(record, key));
}

static bool has_status(const json_t *record, enum review_status s)
{
	const char *is = text_of(record, "status"), *name = review_status_name(s);

	return is && name && streq(is, name);
}

/* How often the reviewer has asked for changes since the task was approved, or since a person was
 * asked. */
static uint64_t count_of(const struct loop *l, const struct task *t)
{
	const json_t *record = record_of(l, t);
	uint64_t n = (uint64_t)json_integer_value(json_object_get(record, "count"));

	return has_status(record, REVIEW_APPROVED) || n > l->config->loop.review_cap ? 0 : n;
}

static int note(struct loop *l, const struct task *t, enum review_status status, uint64_t count,
		const char *feedback, struct err *err)
{
	const char *head = l->state.intent.commit;

	state_task_set(&l->state, t->id, "review",
		       json_pack("{ss* sI so* ss*}", "status", review_status_name(status), "count",
				 (json_int_t)count, "feedback",
				 feedback ? json_text(feedback) : NULL, "head", head));
	return work_review(l->work, t, status, count, feedback, err);
}

bool review_waits(struct loop *l, const struct task *t)
{
	const json_t *record = t ? record_of(l, t) : NULL;
	const char *head = text_of(record, "head"), *now = l->state.intent.head;

	return l->reviewer && has_status(record, REVIEW_NEEDED) && head && now && streq(head, now);
}

void review_put(struct loop *l, const struct task *t, struct buf *b)
{
	const json_t *record = record_of(l, t);
	const char *feedback = text_of(record, "feedback");

	if (l->reviewer && feedback && has_status(record, REVIEW_CHANGES))
		(void)buf_printf(
			b,
			"\n# What the reviewer asks for\n\n"
			"The checks passed, and a reviewer read your change and asks for:\n\n%s",
			feedback);
}

json_t *review_row(const struct loop *l, const struct task *t)
{
	return l->reviewer ? json_incref(record_of(l, t)) : NULL;
}

int review_take(struct loop *l, const struct task *t, const json_t *row, struct err *err)
{
	enum review_status s = REVIEW_NONE;
	uint64_t count = (uint64_t)json_integer_value(json_object_get(row, "count"));

	if (!l->reviewer || !json_is_object(row))
		return 0;
	for (s = REVIEW_NEEDED; s < REVIEW_STATUS_N && !has_status(row, s);)
		s++;
	if (s == REVIEW_STATUS_N)
		return 0;
	state_task_set(&l->state, t->id, "review", json_deep_copy(row));
	return work_review(l->work, t, s, count, text_of(row, "feedback"), err);
}

/* ---- before the first iteration ---- */

int review_open(struct loop *l, struct err *err)
{
	const char *name = l->config->loop.review;

	if (!name || !*name || l->mode == LOOP_PLAN)
		return 0;
	l->reviewer = agent_find(name);
	if (!l->reviewer || !l->reviewer->program)
		return err_usage(err,
				 "--review: '%s' is no agent that can review; name a program "
				 "such as %s",
				 name, agent_default()->name);
	if (l->q.direct || l->shared)
		return err_usage(err, "--review needs a sandbox of ralph's own, which --no-sandbox "
				      "and the engine sbx do not have");
	if (!l->repo || !l->work)
		return err_usage(err, "--review needs %s",
				 l->repo ? "a list of tasks: ralph task"
					 : "a git repository: git init");
	return review_check_credentials(l, err);
}

/* ---- one review ---- */

static int make_key(char key[REVIEW_KEY_LEN + 1], struct err *err)
{
	unsigned char bytes[REVIEW_KEY_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(err, errno, "cannot make a random key");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(key + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* The question stands in place of the agent's last words; see round_verify(). */
static enum verdict ask(struct loop *l, char *question)
{
	free(l->state.intent.words);
	l->state.intent.words = question;
	return VERDICT_DECIDE;
}

/* Returns the verdict of a review that did not come to an answer; VERDICT_N: try again. */
static enum verdict without_answer(enum run_end end)
{
	switch ((unsigned)end) {
	case RUN_LIMITED:
		return VERDICT_LIMITED;
	case RUN_OUTAGE:
		return VERDICT_OUTAGE;
	case RUN_CREDENTIAL:
		return VERDICT_CREDENTIAL;
	case RUN_NOT_STARTED:
		return VERDICT_BROKEN;
	case RUN_OVERTIME:
		return VERDICT_INTERRUPTED;
	default:
		return VERDICT_N;
	}
}

/* *ret: VERDICT_DONE with an answer. */
static int ask_reviewer(struct loop *l, const char *prompt, const char *key,
			struct review_answer *answer, enum verdict *ret, struct err *err)
{
	const char *why = NULL;

	for (int i = 0; i < REVIEW_TRIES; i++) {
		cleanup_(review_run_done) struct review_run run = {0};
		int r = review_sandbox_run(l, prompt, &run, err);

		if (r < 0)
			return r;
		if (run.end == RUN_STOPPED)
			return -ECANCELED;
		*ret = without_answer(run.end);
		if (run.end == RUN_OK && review_answer_read(run.text, key, answer))
			*ret = VERDICT_DONE;
		if (*ret != VERDICT_N)
			return 0;
		why = run.end == RUN_OK ? "its last line is no answer" : run_end_name(run.end);
		show_line(&l->show, STYLE_YELLOW, "review  no answer: %s", why);
	}
	*ret = ask(l,
		   xasprintf("The reviewer gave no answer: %s. Look at the task yourself; the next "
			     "iteration and its review read what you answer.",
			     why));
	return 0;
}

static int conclude(struct loop *l, const struct task *t, const struct review_answer *a,
		    enum verdict *ret, struct err *err)
{
	uint64_t n = count_of(l, t);

	show_line(&l->show, a->approves ? STYLE_GREEN : STYLE_YELLOW, "review  %s %s",
		  l->reviewer->name, a->approves ? "approves" : "asks for changes");
	if (a->feedback)
		show_quote(&l->show, a->feedback, 12);
	*ret = a->approves ? VERDICT_DONE : VERDICT_CHANGES;
	if (!a->approves && ++n > l->config->loop.review_cap)
		*ret = ask(l,
			   xasprintf("The reviewer asked for changes %llu times, the last time:\n"
				     "%sHow shall the task go on?",
				     (unsigned long long)n, a->feedback));
	return note(l, t, a->approves ? REVIEW_APPROVED : REVIEW_CHANGES, n, a->feedback, err);
}

static int review_diff(struct loop *l, const struct task *t, const char *diff, const char *output,
		       enum verdict *ret, struct err *err)
{
	cleanup_(review_answer_done) struct review_answer answer = {0};
	char key[REVIEW_KEY_LEN + 1];
	const struct review_material m = {.key = key, .diff = diff, .output = output};
	cleanup_free char *prompt = NULL;
	int r = make_key(key, err);

	if (r < 0)
		return r;
	prompt = review_prompt(l, t, &m);
	if (!prompt)
		return err_usage(err, "the prompt of the review is too long; shorten the task '%s'",
				 t->id);
	r = ask_reviewer(l, prompt, key, &answer, ret, err);
	return r == 0 && *ret == VERDICT_DONE ? conclude(l, t, &answer, ret, err) : r;
}

static int too_large(struct loop *l, const struct task *t, enum verdict *ret, struct err *err)
{
	cleanup_free char *why =
		xasprintf("- The change is larger than %zu KiB, too large for a review.\n",
			  REVIEW_DIFF_MAX / KiB);

	*ret = ask(
		l,
		xasprintf("The change is larger than %zu KiB, too large for a review. How shall "
			  "the task go on? To accept the change yourself, set its passes to true "
			  "and its reviewStatus to approved in the list.",
			  REVIEW_DIFF_MAX / KiB));
	return note(l, t, REVIEW_CHANGES, count_of(l, t), why, err);
}

int review_task(struct loop *l, struct task *t, const char *output, enum verdict *ret,
		struct err *err)
{
	const char *base = state_task_str(&l->state, t->id, "base");
	cleanup_free char *diff = NULL;
	int r = note(l, t, REVIEW_NEEDED, count_of(l, t), text_of(record_of(l, t), "feedback"),
		     err);

	*ret = VERDICT_CHANGES;
	if (r == 0)
		r = state_save(&l->state, err);
	if (r < 0)
		return r;
	show_line(&l->show, STYLE_BOLD, "review of %s by %s", t->id, l->reviewer->name);
	r = repo_diff(l->repo, base ? base : "", l->state.intent.commit, REVIEW_DIFF_MAX, &diff,
		      err);
	if (r == -E2BIG)
		return too_large(l, t, ret, err);
	return r < 0 ? r : review_diff(l, t, diff, output, ret, err);
}
