#include "loop/loop.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text/quote-word.h"
#include "base/text/table.h"
#include "loop/review/review.h"
#include "loop/loop-usage.h"
#include "loop/notify/notify.h"
#include "loop/report/report.h"
#include "live/autosave.h"
#include "live/live.h"
#include "record/store.h"

#define NEXT_MAX (64 * KiB)
#define HELD_SHOWN 20

static const char *phase_of(int code)
{
	/* Words of ralph-status(1); only a failure is called one. */
	static const char *const words[] = {
		[LOOP_DONE] = "done",	     [LOOP_LIMIT] = "limit",
		[LOOP_STUCK] = "stuck",	     [LOOP_BLOCKED] = "blocked",
		[LOOP_DECIDE] = "question",  [LOOP_PROVIDER] = "provider",
		[LOOP_CREDENTIAL] = "login", [LOOP_PAUSED] = "paused",
	};

	if (code > 128)
		return "stopped";
	return code >= 0 && (size_t)code < ARRAY_SIZE(words) && words[code] ? words[code]
									    : "failed";
}

/* ---- the summary ---- */

static json_t *task_rows(const struct loop *l)
{
	json_t *a = json_array();

	for (size_t i = 0; l->work && i < l->work->n; i++) {
		const struct task *t = l->work->tasks[i];

		(void)json_array_append_new(
			a, json_pack("{so so* ss so* so* sI so*}", "id", json_text(t->id), "title",
				     t->title ? json_text(t->title) : NULL, "state",
				     task_state_name(t->state), "why",
				     t->why ? json_text(t->why) : NULL, "commit",
				     t->commit ? json_text(t->commit) : NULL, "attempts",
				     (json_int_t)t->attempts, "review", review_row(l, t)));
	}
	return a;
}

/* Names the commands that failed before the loop and have never passed since: they were not held
 * against the agent. */
static json_t *failing_before(const struct loop *l)
{
	json_t *a = json_array(), *ok;
	const char *command;

	json_object_foreach (l->state.baseline, command, ok)
		if (json_is_false(ok))
			(void)json_array_append_new(a, json_text(command));
	return a;
}

static json_t *summary_json(const struct loop *l, int code, const char *reason, const char *next)
{
	const struct loop_state *s = &l->state;

	return json_pack("{si si so so ss* sI sI sI sI sO so so so so so so}", "version", 1,
			 "exit_code", code, "reason", json_text(reason), "workspace",
			 json_text(l->q.workspace), "branch", s->branch, "iterations",
			 (json_int_t)s->iterations, "micro_usd", (json_int_t)s->micro_usd, "tokens",
			 (json_int_t)tokens_all(&s->tokens), "active_ms", (json_int_t)s->active_ms,
			 "records", s->records, "tasks", task_rows(l), "failing", failing_before(l),
			 "refused", summary_refused(l), "quarantined", quarantined_all(l),
			 "unverified", summary_unverified(l), "next", json_text(next));
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "-";
}

static uint64_t number_of(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

static void print_table(const struct loop *l)
{
	static const struct table_column columns[] = {{"#", .right = true, .keep = true},
						      {"TASK", .keep = false},
						      {"MINUTES", .right = true, .keep = true},
						      {"TOKENS", .right = true, .keep = true},
						      {"COST", .right = true, .keep = true},
						      {"COMMIT", .keep = true},
						      {"VERDICT", .keep = true},
						      {"WHY", .keep = false}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	json_t *row;
	size_t i;

	json_array_foreach (l->state.records, i, row) {
		bool done = streq(text_of(row, "verdict"), "done");
		uint64_t ms = number_of(row, "ms");

		table_cellf(t, "%llu", (unsigned long long)number_of(row, "iteration"));
		table_cell(t, text_of(row, "task"));
		table_cellf(t, "%llu.%llu", (unsigned long long)(ms / 60000),
			    (unsigned long long)(ms / 6000 % 10));
		table_cellf(t, "%llu", (unsigned long long)number_of(row, "tokens"));
		table_cellf(t, SHOW_USD, SHOW_USD_ARGS(number_of(row, "micro_usd")));
		table_cellf(t, "%.8s", text_of(row, "commit"));
		table_styled(t, done ? STYLE_GREEN : STYLE_YELLOW, text_of(row, "verdict"));
		table_cell(t, text_of(row, "why"));
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), l->q.color && isatty(STDOUT_FILENO));
}

/* ---- what to type next: each line works as it is, in the directory of the command ---- */

static void put_word(struct buf *b, const char *word)
{
	(void)buf_puts(b, " ");
	quote_word(b, word);
}

/* Appends the workspace, unless it is the current directory. */
static void put_place(const struct loop *l, const char *option, struct buf *b)
{
	char cwd[PATH_MAX];

	if (!l->anywhere && getcwd(cwd, sizeof(cwd)) && streq(cwd, l->q.workspace))
		return;
	if (option)
		put_word(b, option);
	put_word(b, l->q.workspace);
}

/* Returns the agent that the user typed; NULL: it is that of the settings. */
static const char *typed_agent(const struct loop *l)
{
	const json_t *settings = json_object_get(l->q.doc, "settings"), *f;
	size_t i;

	json_array_foreach (json_object_get(settings, "flags"), i, f)
		if (strncmp(json_string_value(f), "agent=", 6) == 0)
			return json_string_value(f) + 6;
	return NULL;
}

/* A plan is built with the same agent and list. */
static void put_build(const struct loop *l, struct buf *b)
{
	const char *agent = typed_agent(l);

	(void)buf_puts(b, l->q.direct ? "ralph --no-sandbox build" : "ralph build");
	if (l->q.tasks) {
		put_word(b, "-f");
		put_word(b, l->q.tasks);
	}
	if (agent)
		put_word(b, agent);
	put_place(l, NULL, b);
	for (size_t i = 0; i < l->q.command.n; i++) {
		if (i == 0)
			put_word(b, "--");
		put_word(b, l->q.command.v[i]);
	}
}

static void put_duration(struct buf *b, uint64_t ms)
{
	(void)(ms % 3600000 == 0 ? buf_printf(b, " %lluh", (unsigned long long)(ms / 3600000))
	       : ms % 60000 == 0 ? buf_printf(b, " %llum", (unsigned long long)(ms / 60000))
				 : buf_printf(b, " %llums", (unsigned long long)ms));
}

/* The limit that was reached is raised: as much again, or ten iterations. */
static void put_more(const struct loop *l, struct buf *b)
{
	const struct loop_used used = loop_used(l);
	const struct loop_limits *m = &l->limits;
	const unsigned long long cents = (used.micro_usd + m->micro_usd + 9999) / 10000;

	(void)buf_puts(b, "ralph resume");
	if (m->iterations && used.iterations >= m->iterations)
		(void)buf_printf(b, " -n %llu", (unsigned long long)(used.iterations + 10));
	if (m->micro_usd && used.micro_usd >= m->micro_usd)
		(void)buf_printf(b, " --max-cost %llu.%02llu", cents / 100, cents % 100);
	if (m->duration_ms && used.active_ms >= m->duration_ms) {
		(void)buf_puts(b, " --max-duration");
		put_duration(b, used.active_ms / m->duration_ms * m->duration_ms + m->duration_ms);
	}
	put_place(l, NULL, b);
}

/* Shows the last iteration of this task (NULL: of all). */
static void put_logs(const struct loop *l, const char *id, struct buf *b)
{
	uint64_t n = 0;
	json_t *row;
	size_t i;

	json_array_foreach (l->state.records, i, row)
		if (!id || streq(text_of(row, "task"), id))
			n = number_of(row, "iteration");
	(void)buf_puts(b, "ralph logs");
	put_place(l, "-C", b);
	if (n)
		(void)buf_printf(b, " %llu", (unsigned long long)n);
}

static const struct task *first_stuck(const struct loop *l)
{
	for (size_t i = 0; l->work && i < l->work->n; i++)
		if (l->work->tasks[i]->state == TASK_STUCK)
			return l->work->tasks[i];
	return NULL;
}

static void put_done(const struct loop *l, struct buf *b)
{
	if (l->repo) {
		(void)buf_puts(b, "git");
		put_place(l, "-C", b);
		put_word(b, "log");
		if (l->state.branch)
			put_word(b, l->state.branch);
		return;
	}
	if (!l->work) {
		put_logs(l, NULL, b);
		return;
	}
	(void)buf_puts(b, "ralph task ls");
	put_place(l, NULL, b);
}

static void put_next(const struct loop *l, int code, struct buf *b)
{
	const struct task *stuck = first_stuck(l);
	const char *agent = typed_agent(l);

	switch (code) {
	case LOOP_DONE:
		if (l->mode == LOOP_PLAN)
			put_build(l, b);
		else
			put_done(l, b);
		return;
	case LOOP_LIMIT:
		put_more(l, b);
		return;
	case LOOP_STUCK:
	case EXIT_RUNTIME:
		put_logs(l, stuck ? stuck->id : NULL, b);
		return;
	case LOOP_BLOCKED:
	case LOOP_DECIDE:
		(void)buf_puts(b, "ralph answer");
		put_place(l, "-C", b);
		return;
	case LOOP_CREDENTIAL:
		(void)buf_puts(b, "ralph check-token");
		if (agent) {
			put_word(b, "--agent");
			put_word(b, agent);
		}
		return;
	default:
		(void)buf_puts(b, "ralph resume");
		put_place(l, NULL, b);
	}
}

/* A stuck task is looked at first, and then reopened. */
static void next_commands(const struct loop *l, int code, struct strv *ret)
{
	const struct task *stuck = first_stuck(l);
	struct buf b;

	buf_init(&b, NEXT_MAX);
	put_next(l, code, &b);
	strv_take(ret, buf_take(&b));
	if (code != LOOP_STUCK || !stuck)
		return;
	buf_init(&b, NEXT_MAX);
	(void)buf_puts(&b, "ralph task reopen");
	put_word(&b, stuck->id);
	put_place(l, NULL, &b);
	strv_take(ret, buf_take(&b));
}

static void print_failing(const struct loop *l)
{
	cleanup_json json_t *failing = failing_before(l);
	const json_t *command;
	size_t i;

	json_array_foreach (failing, i, command) {
		(void)fputs("failed before the loop, and still does: ", stdout);
		term_puts(stdout, json_string_value(command));
		(void)fputc('\n', stdout);
	}
}

/* Other branches, tags and stashes of the agents: nothing of them is in the user's own. */
static json_t *held_of(struct loop *l)
{
	cleanup_strv struct strv refs = {0};
	json_t *a = json_array();

	proposal_others(l, &refs);
	for (size_t i = 0; i < refs.n; i++)
		(void)json_array_append_new(a, json_text(refs.v[i]));
	return a;
}

static void print_held(const json_t *held)
{
	const json_t *ref;
	size_t i;

	json_array_foreach (held, i, ref) {
		if (i == HELD_SHOWN) {
			(void)printf("and %zu more, see: git for-each-ref refs/ralph\n",
				     json_array_size(held) - i);
			return;
		}
		(void)fputs("made by the agent, and kept: ", stdout);
		term_puts(stdout, json_string_value(ref));
		(void)fputc('\n', stdout);
	}
}

static void print_end(int code, const char *reason, const struct strv *next)
{
	(void)printf("exit %d: ", code);
	term_puts(stdout, reason);
	for (size_t i = 0; i < next->n; i++) {
		(void)fputs("\nnext: ", stdout);
		term_puts(stdout, next->v[i]);
	}
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

static void print_summary(const struct loop *l, int code, const char *reason,
			  const struct strv *next, const char *transcripts, const json_t *held)
{
	const struct loop_state *s = &l->state;

	(void)fflush(stderr);
	print_table(l);
	(void)printf("\n%llu iteration%s, " SHOW_USD ", %llu tokens, %llu %s\n",
		     (unsigned long long)s->iterations, s->iterations == 1 ? "" : "s",
		     SHOW_USD_ARGS(s->micro_usd), (unsigned long long)tokens_all(&s->tokens),
		     (unsigned long long)(s->active_ms < 120000 ? s->active_ms / 1000
								: s->active_ms / 60000),
		     s->active_ms < 120000 ? "s" : "min");
	for (size_t i = 0; l->work && i < l->work->n; i++) {
		const struct task *t = l->work->tasks[i];

		if (t->state == TASK_DONE || t->state == TASK_READY)
			continue;
		(void)printf("%s: ", task_state_name(t->state));
		term_puts(stdout, t->id);
		if (t->why) {
			(void)fputs(": ", stdout);
			term_puts(stdout, t->why);
		}
		(void)fputc('\n', stdout);
	}
	print_failing(l);
	summary_print(l, transcripts);
	print_held(held);
	(void)fputc('\n', stdout);
	print_end(code, reason, next);
}

static void write_summary(const struct loop *l, const json_t *j)
{
	cleanup_free char *text = json_dumps(j, JSON_INDENT(1));
	int r = text ? path_write_atomic(l->dir, "summary.json", text, strlen(text), 0644, 0)
		     : -EINVAL;

	if (r < 0)
		log_warn("loop", "cannot write .ralph/summary.json: %s", strerror(-r));
}

/* ---- what the source of the work is told ---- */

/* Reports the outcome to the issue, unless the loop continues with it. */
static void finish_work(struct loop *l, int code)
{
	struct err err = {0};

	if (!l->work || (code != LOOP_DONE && code != LOOP_STUCK && code != LOOP_BLOCKED &&
			 code != LOOP_DECIDE))
		return;
	if (work_close(l->work, &err) < 0)
		log_error("loop", "%s", err.msg);
	for (size_t i = 0; i < l->work->news.n; i++)
		log_warn("loop", "%s", l->work->news.v[i]);
}

/* The status is read in any directory. */
static void status_end(struct loop *l, int code)
{
	cleanup_strv struct strv next = {0};

	l->anywhere = true;
	next_commands(l, code, &next);
	l->anywhere = false;
	l->next = next.v[0];
	status_write(l, phase_of(code), 0);
	l->next = NULL;
}

void ending_progress(const struct loop *l)
{
	cleanup_json json_t *summary = NULL;

	if (!l->q.placed)
		return;
	summary = summary_json(l, -1, "", "");
	if (l->resets_at)
		(void)json_object_set_new(summary, "resets_at",
					  json_integer((json_int_t)l->resets_at));
	(void)json_show(summary, stdout, JSON_COMPACT);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

int ending(struct loop *l, int code, const char *reason)
{
	cleanup_json json_t *held = held_of(l); /* before the worktree is removed */
	cleanup_free char *transcripts = NULL;
	cleanup_strv struct strv next = {0};
	cleanup_json json_t *summary = NULL;
	struct err err = {0};

	finish_work(l, code);
	if (code < 128) /* a signal waits for nothing */
		transcripts_wait(l);
	tree_finish(l, code);
	loop_sandbox_keep(l);
	l->state.exit_code = code;
	free(l->state.reason);
	l->state.reason = xstrdup(reason);
	next_commands(l, code, &next);
	transcripts = transcripts_index(l);
	summary = summary_json(l, code, reason, next.v[0]);
	if (l->state.setup)
		(void)json_object_set_new(summary, "setup",
					  json_pack("{sO sO}", "runs",
						    json_object_get(l->state.setup, "runs"), "ms",
						    json_object_get(l->state.setup, "ms")));
	if (transcripts)
		(void)json_object_set_new(summary, "transcripts", json_text(transcripts));
	(void)json_object_set(summary, "held", held);
	write_summary(l, summary);
	status_end(l, code);
	/* Last: a loop that ended finds nothing to do when it is resumed, and writes nothing. */
	if (state_save(&l->state, &err) < 0)
		log_error("loop", "%s", err.msg);
	if (l->q.json)
		(void)json_show(summary, stdout, l->q.placed ? JSON_COMPACT : JSON_INDENT(1)),
			(void)fputc('\n', stdout);
	else
		print_summary(l, code, reason, &next, transcripts, held);
	notify_end(l, code, reason);
	return code;
}

int ending_idle(struct loop *l, int code, const char *reason)
{
	cleanup_strv struct strv next = {0};
	cleanup_json json_t *summary = NULL;

	if (code == LOOP_DONE)
		tree_push(l);
	next_commands(l, code, &next);
	summary = summary_json(l, code, reason, next.v[0]);
	if (l->q.json)
		(void)json_show(summary, stdout, l->q.placed ? JSON_COMPACT : JSON_INDENT(1)),
			(void)fputc('\n', stdout);
	else
		print_end(code, reason, &next);
	return code;
}
