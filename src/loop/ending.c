#include "loop/loop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/table.h"
#include "loop/loop-usage.h"
#include "live/autosave.h"
#include "live/live.h"
#include "record/store.h"

#define NOTIFY_MS 30000
#define NOTIFY_OUT_MAX (64 * KiB)

extern char **environ;

static const char *phase_of(int code)
{
	return code == LOOP_DONE     ? "done"
	       : code == LOOP_PAUSED ? "paused"
	       : code > 128	     ? "stopped"
				     : "failed";
}

/* ---- the summary ---- */

static json_t *task_rows(const struct loop *l)
{
	json_t *a = json_array();

	for (size_t i = 0; l->work && i < l->work->n; i++) {
		const struct task *t = l->work->tasks[i];

		(void)json_array_append_new(
			a, json_pack("{so so* ss so* so* sI}", "id", json_text(t->id), "title",
				     t->title ? json_text(t->title) : NULL, "state",
				     task_state_name(t->state), "why",
				     t->why ? json_text(t->why) : NULL, "commit",
				     t->commit ? json_text(t->commit) : NULL, "attempts",
				     (json_int_t)t->attempts));
	}
	return a;
}

static json_t *summary_json(const struct loop *l, int code, const char *reason, const char *next)
{
	const struct loop_state *s = &l->state;

	return json_pack("{si si so so ss* sI sI sI sI sO so so}", "version", 1, "exit_code", code,
			 "reason", json_text(reason), "workspace", json_text(l->q.workspace),
			 "branch", s->branch, "iterations", (json_int_t)s->iterations, "micro_usd",
			 (json_int_t)s->micro_usd, "tokens", (json_int_t)tokens_all(&s->tokens),
			 "active_ms", (json_int_t)s->active_ms, "records", s->records, "tasks",
			 task_rows(l), "next", json_text(next));
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

static char *next_command(const struct loop *l, int code)
{
	switch (code) {
	case LOOP_DONE:
		return l->mode == LOOP_PLAN ? xstrdup("ralph build")
		       : l->state.branch    ? xasprintf("git log %s", l->state.branch)
					    : xstrdup("git log");
	case LOOP_LIMIT:
		return xasprintf("ralph resume -n %llu",
				 (unsigned long long)(l->state.iterations + 10));
	case LOOP_STUCK:
	case LOOP_BLOCKED:
		return xstrdup("ralph task ls");
	case LOOP_DECIDE:
		return xstrdup("ralph answer 'what you decide'");
	case LOOP_CREDENTIAL:
		return xstrdup("ralph check-token");
	default:
		return xstrdup("ralph resume");
	}
}

static void print_summary(const struct loop *l, int code, const char *reason, const char *next)
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
	(void)printf("\nexit %d: ", code);
	term_puts(stdout, reason);
	(void)printf("\nnext: %s\n", next);
	(void)fflush(stdout);
}

/* ---- the user's own command ---- */

static void notify(const struct loop *l, int code, const char *reason)
{
	cleanup_strv struct strv env = {0};
	cleanup_free char *out = NULL, *path = tree_path(l);
	char *argv[] = {"/bin/sh", "-c", l->config->loop.notify, NULL};
	struct err err = {0};
	int ended = 0;

	if (!l->config->loop.notify)
		return;
	for (char **e = environ; *e; e++)
		strv_push(&env, *e);
	strv_env_set(&env, "PATH", path);
	strv_pushf(&env, "RALPH_EXIT_CODE=%d", code);
	strv_pushf(&env, "RALPH_REASON=%s", reason);
	strv_pushf(&env, "RALPH_WORKSPACE=%s", l->q.workspace);
	strv_pushf(&env, "RALPH_SUMMARY=%s/" WORK_DIR "/summary.json", l->q.workspace);
	if (run_capture(argv, env.v, NOTIFY_MS, NOTIFY_OUT_MAX, &out, &ended, &err) < 0)
		log_warn("loop", "the notify command: %s", err.msg);
	else if (ended != 0)
		log_warn("loop", "the notify command ended with %d", ended);
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

int ending(struct loop *l, int code, const char *reason)
{
	cleanup_free char *next = next_command(l, code);
	cleanup_json json_t *summary = NULL;
	struct err err = {0};

	finish_work(l, code);
	tree_finish(l, code);
	loop_sandbox_keep(l);
	l->state.exit_code = code;
	free(l->state.reason);
	l->state.reason = xstrdup(reason);
	if (state_save(&l->state, &err) < 0)
		log_error("loop", "%s", err.msg);
	summary = summary_json(l, code, reason, next);
	write_summary(l, summary);
	status_write(l, phase_of(code), 0);
	refused_hosts_tell_all(l);
	if (l->q.json)
		(void)json_dumpf(summary, stdout, JSON_INDENT(1)), (void)fputc('\n', stdout);
	else
		print_summary(l, code, reason, next);
	notify(l, code, reason);
	return code;
}
