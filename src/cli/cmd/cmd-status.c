#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/text/human.h"
#include "base/text/quote-word.h"
#include "live/git-repo.h"
#include "view/log-view.h"
#include "view/survey.h"
#include "base/text/table.h"
#include "workspace/nested.h"

struct status_args {
	bool json, quiet;
};

static const struct opt status_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct status_args, json), NULL, "print JSON"},
	{"quiet", 'q', OPT_BOOL, offsetof(struct status_args, quiet), NULL,
	 "print the workspaces of the loops only"},
};

static json_t *sandbox_json(const struct places *p, const struct survey_sandbox *b, int64_t now_s)
{
	const char *doing = survey_doing(b);
	uint64_t tokens, usd;
	json_t *j;

	sandbox_log_rate(&b->log, now_s, &tokens, &usd);
	j = json_pack(
		"{ss ss so so so so sI sI sI sI sI sI}", "name", b->name, "state",
		survey_sandbox_state(b), "agent", b->agent ? json_text(b->agent) : json_null(),
		"workspace", b->workspace ? json_text(b->workspace) : json_null(), "doing",
		doing[0] ? json_text(doing) : json_null(), "loop",
		b->loop ? json_string(survey_loop_state(b->loop)) : json_null(), "tokens",
		(json_int_t)b->log.tokens, "micro_usd", (json_int_t)b->log.micro_usd,
		"tokens_per_minute", (json_int_t)tokens, "micro_usd_per_minute", (json_int_t)usd,
		"refused", (json_int_t)b->log.refused, "memory", (json_int_t)b->memory);
	if (b->log.gateway_ends)
		(void)json_object_update_new(
			j, json_pack("{sI so}", "gateway_ends", (json_int_t)b->log.gateway_ends,
				     "gateway_why", json_text(b->log.gateway_why)));
	if (p)
		git_repo_put(p, b->name, j);
	return j;
}

static json_t *loop_json(const struct survey_loop *l)
{
	json_t *j = json_copy(l->status);

	(void)json_object_set_new(j, "workspace", json_text(l->workspace));
	(void)json_object_set_new(j, "state", json_string(survey_loop_state(l)));
	(void)json_object_set_new(j, "running", json_boolean(l->running));
	return j;
}

static void print_json(const struct survey *s, const struct nested_list *n)
{
	json_t *sandboxes = json_array(), *loops = json_array();
	cleanup_json json_t *j = json_pack("{so so so}", "sandboxes", sandboxes, "loops", loops,
					   "nested", nested_list_json(n));

	for (size_t i = 0; i < s->n_sandboxes; i++)
		(void)json_array_append_new(sandboxes,
					    sandbox_json(s->places, s->sandboxes[i], s->now_s));
	for (size_t i = 0; i < s->n_loops; i++)
		(void)json_array_append_new(loops, loop_json(s->loops[i]));
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static enum term_style state_style(const char *state)
{
	static const struct {
		const char *state;
		enum term_style style;
	} rows[] = {
		{"running", STYLE_GREEN},   {"iterating", STYLE_GREEN}, {"verifying", STYLE_GREEN},
		{"starting", STYLE_GREEN},  {"waiting", STYLE_YELLOW},	{"paused", STYLE_YELLOW},
		{"question", STYLE_YELLOW}, {"blocked", STYLE_YELLOW},	{"stuck", STYLE_YELLOW},
		{"limit", STYLE_YELLOW},    {"provider", STYLE_YELLOW}, {"login", STYLE_YELLOW},
		{"crashed", STYLE_RED},	    {"failed", STYLE_RED},	{"killed", STYLE_RED}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i].state, state))
			return rows[i].style;
	return STYLE_NONE;
}

static void print_boxes(struct cli *cli, const struct survey *s)
{
	static const struct table_column columns[] = {
		{"PROJECT", .least = 16},
		{"STATE", .keep = true},
		{"AGENT", .keep = true, .drop = 4},
		{"LOOP", .keep = true, .drop = 1},
		{"TOKENS", .right = true, .keep = true, .drop = 3},
		{"USD", .right = true, .keep = true},
		{"REFUSED", .right = true, .keep = true, .drop = 2},
		{"DOING", .drop = 5, .least = 12},
		{"SANDBOX", .drop = 6, .least = 20},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const struct survey_sandbox *b = s->sandboxes[i];
		const char *loop = b->loop ? survey_loop_state(b->loop) : "-";
		const char *doing = survey_doing(b);

		table_cell(t, survey_project(b, b->loop));
		table_styled(t, state_style(survey_sandbox_state(b)), survey_sandbox_state(b));
		table_cell(t, b->agent ? b->agent : "-");
		table_styled(t, state_style(loop), loop);
		table_cellf(t, "%llu", (unsigned long long)survey_tokens(b));
		table_cellf(t, "%.2f", (double)survey_micro_usd(b) / 1e6);
		table_cellf(t, "%llu", (unsigned long long)b->log.refused);
		table_cell(t, doing[0] ? doing : "-");
		table_cell(t, b->name);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

/* "3 of 7 done, 1 blocked" */
static char *tasks_text(const json_t *status)
{
	const json_t *t = json_object_get(status, "tasks");
	cleanup_free char *blocked = NULL, *stuck = NULL;

	if (!log_number(t, "total"))
		return xstrdup("-");
	blocked = log_number(t, "blocked") ? xasprintf(", %lld blocked", log_number(t, "blocked"))
					   : xstrdup("");
	stuck = log_number(t, "stuck") ? xasprintf(", %lld stuck", log_number(t, "stuck"))
				       : xstrdup("");
	return xasprintf("%lld of %lld done%s%s", log_number(t, "done"), log_number(t, "total"),
			 blocked, stuck);
}

static char *iteration_text(const json_t *status)
{
	long long max = log_number(status, "max_iterations");

	return max ? xasprintf("%lld of %lld", log_number(status, "iteration"), max)
		   : xasprintf("%lld", log_number(status, "iteration"));
}

static void print_loops(struct cli *cli, const struct survey *s)
{
	static const struct table_column columns[] = {
		{"PROJECT", .least = 16},
		{"STATE", .keep = true},
		{"ITERATION", .keep = true, .drop = 2},
		{"TASKS", .least = 11},
		{"USD", .right = true, .keep = true, .drop = 1},
		{"TASK", .drop = 3, .least = 12},
		{"WORKSPACE", .drop = 4, .least = 20},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < s->n_loops; i++) {
		const struct survey_loop *l = s->loops[i];
		const json_t *task = json_object_get(l->status, "task");
		cleanup_free char *tasks = tasks_text(l->status), *n = iteration_text(l->status);
		const char *state = survey_loop_state(l);

		if (l->parent)
			continue; /* a worker's counts are in its loop's row */
		table_cell(t, survey_project(NULL, l));
		table_styled(t, state_style(state), state);
		table_cell(t, n);
		table_cell(t, tasks);
		table_cellf(t, "%.2f", (double)log_number(l->status, "micro_usd") / 1e6);
		table_cell(t, log_text(task, "title")[0] ? log_text(task, "title") : "-");
		table_cell(t, l->workspace);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

/* Says of each running sandbox whose gateway ended how often, and why it did the last time. */
static void print_gateways(const struct survey *s)
{
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const struct survey_sandbox *b = s->sandboxes[i];

		if (!b->live || !b->log.gateway_ends)
			continue;
		(void)printf("the gateway of '%s' ended %llu time%s since its start: ", b->name,
			     (unsigned long long)b->log.gateway_ends,
			     b->log.gateway_ends > 1 ? "s" : "");
		term_puts(stdout, b->log.gateway_why);
		(void)printf("; see: ralph events %s\n", b->name);
	}
}

/* Says of each sandbox which of its commits wait for the user. */
static void print_held(const struct survey *s)
{
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const char *name = s->sandboxes[i]->name;
		cleanup_strv struct strv held = {0};

		if (s->places)
			git_repo_held(s->places, name, &held);
		for (size_t k = 0; k < held.n; k++) {
			(void)fputs(k ? ", " : "held: ", stdout);
			term_puts(stdout,
				  strncmp(held.v[k], "heads/", 6) == 0 ? held.v[k] + 6 : held.v[k]);
		}
		if (held.n)
			(void)printf("; see: ralph diff %s, ralph apply %s\n", name, name);
	}
}

static void print_nested(const struct nested_list *l)
{
	for (size_t i = 0; i < l->n && i < NESTED_TOLD_MAX; i++) {
		(void)printf("git directory that appeared: ");
		term_puts(stdout, l->v[i].path);
		(void)printf("; see: ralph adopt %s\n", l->v[i].id);
	}
	if (l->n > NESTED_TOLD_MAX)
		(void)printf("%zu more; see: ralph adopt\n", l->n - NESTED_TOLD_MAX);
}

/* Says of each loop that waits for a person what it asks or why it ended, and what to type. */
static size_t print_wants(const struct survey *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_loops && survey_loop_wants(s->loops[i]); i++, n++) {
		const struct survey_loop *l = s->loops[i];
		const json_t *ask = json_array_get(json_object_get(l->status, "asks"), 0);
		const char *next = log_text(l->status, "next");
		cleanup_buf struct buf b;

		buf_init(&b, 64 * KiB);
		if (ask) {
			(void)buf_puts(&b, "ralph answer -C ");
			quote_word(&b, l->workspace);
		}
		(void)printf("%s: the loop in '", ask ? "question" : survey_loop_state(l));
		term_puts(stdout, l->workspace);
		(void)printf("' %s: ", ask ? "asks" : "waits for you");
		term_puts(stdout, survey_loop_wants(l));
		if (b.len || next[0])
			(void)fputs("; next: ", stdout);
		term_puts(stdout, b.len ? buf_str(&b) : next);
		(void)putchar('\n');
	}
	return n;
}

/* Prints a command for each loop that does not go on by itself. */
static void print_advice(const struct survey *s)
{
	for (size_t i = 0; i < s->n_loops; i++) {
		const struct survey_loop *l = s->loops[i];
		const char *state = survey_loop_state(l);

		/* `ralph resume` of the whole loop resumes its workers. */
		if (l->parent ||
		    (!streq(state, "crashed") && !(streq(state, "paused") && !l->running)))
			continue;
		(void)printf("the loop in '");
		term_puts(stdout, l->workspace);
		(void)printf("' %s; go on with: ralph resume ",
			     streq(state, "paused") ? "is paused"
						    : "has crashed: its process is gone");
		term_puts(stdout, l->workspace);
		(void)putchar('\n');
	}
}

static void line(const char *label, const char *text)
{
	if (!text || !*text)
		return;
	(void)printf("%-10s ", label);
	term_puts(stdout, text);
	(void)putchar('\n');
}

static char *ago(long long then)
{
	long long now = (long long)time(NULL);
	cleanup_free char *span = NULL;

	if (then <= 0)
		return NULL;
	span = human_span((uint64_t)(now > then ? now - then : 0));
	return xasprintf("%s ago", span);
}

static char *until_text(long long until)
{
	time_t at = (time_t)until;
	char when[40] = "";
	struct tm tm;

	if (until > 0 && localtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	return xstrdup(when);
}

/* Workers on other machines, by the names that their clusters know. */
static void print_workers(const json_t *status)
{
	const json_t *w;
	size_t i;

	json_array_foreach (json_object_get(status, "workers"), i, w) {
		cleanup_free char *text =
			xasprintf("%s  on %s%s%s", log_text(w, "task"), log_text(w, "node"),
				  *log_text(w, "job") ? ", " : "", log_text(w, "job"));

		line("worker", text);
	}
}

static void print_detail(struct cli *cli, const struct survey *s, const struct survey_loop *l)
{
	const json_t *j = l->status, *task = json_object_get(j, "task");
	const json_t *tok = json_object_get(j, "tokens");
	cleanup_free char *tasks = tasks_text(j), *n = iteration_text(j);
	cleanup_free char *started = ago(log_number(j, "started")), *tokens = NULL, *usd = NULL;
	cleanup_free char *updated = ago(log_number(j, "updated")), *until = NULL, *code = NULL;
	cleanup_free char *current = NULL;
	const char *state = survey_loop_state(l);
	bool color = cli_color(cli, STDOUT_FILENO);

	tokens = xasprintf("%lld in, %lld out, %lld from cache",
			   log_number(tok, "input") + log_number(tok, "cache_write"),
			   log_number(tok, "output"), log_number(tok, "cache_read"));
	usd = xasprintf("%.4f", (double)log_number(j, "micro_usd") / 1e6);
	if (streq(state, "waiting"))
		until = until_text(log_number(j, "until"));
	if (!l->running && log_number(j, "exit_code") >= 0 && !streq(state, "crashed"))
		code = xasprintf("%lld", log_number(j, "exit_code"));
	if (task)
		current = xasprintf("%s  %s", log_text(task, "id"), log_text(task, "title"));
	line("loop", l->workspace);
	(void)printf("%-10s ", "state");
	term_styled(stdout, color, state_style(state), state);
	(void)putchar('\n');
	line("agent", log_text(j, "agent"));
	line("sandbox", log_text(j, "sandbox"));
	line("iteration", n);
	line("tasks", tasks);
	line("task", current);
	if (l->running)
		print_workers(j);
	line("tool", l->running ? log_text(j, "tool") : "");
	line("tokens", tokens);
	line("usd", usd);
	line("until", until);
	line("started", started);
	line("updated", updated);
	line("exit", code);
	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (s->sandboxes[i]->loop == l && s->sandboxes[i]->log.refused)
			(void)printf("%-10s %llu; see: ralph net log --denied %s\n", "refused",
				     (unsigned long long)s->sandboxes[i]->log.refused,
				     s->sandboxes[i]->name);
}

static int show_one(struct cli *cli, const struct status_args *args, struct survey *s,
		    const char *path)
{
	cleanup_free char *real = NULL;
	int r = path_real(path, &real, &cli->err);

	for (size_t i = 0; r == 0 && i < s->n_loops; i++) {
		if (!streq(s->loops[i]->workspace, real))
			continue;
		if (args->json) {
			cleanup_json json_t *j = loop_json(s->loops[i]);

			(void)json_show(j, stdout, JSON_INDENT(2));
			(void)putchar('\n');
			return 0;
		}
		print_detail(cli, s, s->loops[i]);
		(void)print_wants(&(struct survey){.loops = &s->loops[i], .n_loops = 1});
		if (!s->loops[i]->running)
			print_advice(&(struct survey){.loops = &s->loops[i], .n_loops = 1});
		return 0;
	}
	return r < 0 ? r
		     : err_set(&cli->err, ENOENT,
			       "'%s' has no loop; see: ralph help build, ralph status", real);
}

static void print_workspaces(const struct survey *s)
{
	for (size_t i = 0; i < s->n_loops; i++)
		if (!s->loops[i]->parent)
			term_line(stdout, "%s", s->loops[i]->workspace);
}

static int cmd_status_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct status_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_(survey_done) struct survey s = {0};
	cleanup_(nested_done) struct nested_list nested = {0};
	int r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	survey_init(&s, &p);
	r = survey_refresh(&s, &cli->err);
	if (r < 0)
		return r;
	if (argc)
		return show_one(cli, args, &s, argv[0]);
	if (args->quiet) {
		print_workspaces(&s);
		return 0;
	}
	r = nested_find(&p, NULL, &nested, &cli->err);
	if (r < 0)
		return r;
	if (args->json) {
		print_json(&s, &nested);
		return 0;
	}
	if (!s.n_sandboxes && !s.n_loops) {
		(void)puts("no sandboxes and no loops");
		print_nested(&nested);
		return 0;
	}
	if (print_wants(&s) > 0)
		(void)putchar('\n');
	if (s.n_sandboxes)
		print_boxes(cli, &s);
	if (s.n_sandboxes && s.n_loops)
		(void)putchar('\n');
	if (s.n_loops)
		print_loops(cli, &s);
	print_gateways(&s);
	print_held(&s);
	print_advice(&s);
	print_nested(&nested);
	return 0;
}

const struct command cmd_status = {
	.name = "status",
	.operands = "[WORKSPACE]",
	.summary = "show all sandboxes and loops, or one loop in detail",
	.group = GROUP_MANAGE,
	OPTIONS(status_opts, struct status_args),
	.max_operands = 1,
	.complete = COMPLETE_LOOP,
	.run = cmd_status_run,
};
