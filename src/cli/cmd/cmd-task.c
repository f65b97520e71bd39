#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/table.h"
#include "record/places.h"

extern char **environ;

#define ANSWER_MAX (16 * MiB)
#define ANSWER_MS (10 * 60 * 1000) /* an issue comes through gh, which waits for its server */

struct task_args {
	const char *tasks;
	bool json, quiet;
};

#define AT(member) offsetof(struct task_args, member)

/* clang-format off */
#define TASK_OPTS \
	{"tasks", 'f', OPT_STR, AT(tasks), "SOURCE", \
	 "where the work is: prd.json, a plan, an issue", .complete = COMPLETE_FILE}, \
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"}
/* clang-format on */

static const struct opt task_opts[] = {TASK_OPTS};

/* In the workspace a source is named from there, elsewhere by its whole path. */
static char *source_of(const char *tasks)
{
	if (!tasks)
		return xstrdup("");
	if (strncmp(tasks, "gh:", 3) == 0 || streq(tasks, "gh"))
		return xstrdup(tasks);
	return realpath(tasks, NULL);
}

static int query(struct cli *cli, const char *verb, const struct task_args *args, const char *path,
		 const char *id, json_t **ret)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *workspace = NULL, *source = source_of(args->tasks), *text = NULL;
	cleanup_strv struct strv argv = {0};
	cleanup_json json_t *j = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	if (!source)
		return err_usage(&cli->err, "there is no '%s'; name a prd.json, a plan or a spec",
				 args->tasks);
	r = path_real(path ? path : ".", &workspace, &cli->err);
	if (r == 0)
		r = places_find(&p, &cli->err);
	if (r < 0)
		return r;
	strv_take(&argv, places_program(&p, "tasks"));
	strv_push(&argv, verb);
	strv_push(&argv, workspace);
	strv_push(&argv, source);
	if (id)
		strv_push(&argv, id);
	run.argv = argv.v;
	run.env = environ;
	run.stdio[2] = STDERR_FILENO;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, ANSWER_MS, ANSWER_MAX, &text, &code, &cli->err);
	if (r == 0)
		r = json_parse(text, strlen(text), &j, &cli->err);
	if (r < 0)
		return r;
	if (json_object_get(j, "error")) {
		r = err_set(&cli->err, EIO, "%s", json_string_value(json_object_get(j, "error")));
		cli->err.exit_code = (int)json_integer_value(json_object_get(j, "exit"));
		return r;
	}
	*ret = take_ptr(j);
	return 0;
}

static void print_json(const json_t *j)
{
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void print_news(const json_t *j)
{
	const json_t *news = json_object_get(j, "news");

	for (size_t i = 0; i < json_array_size(news); i++)
		log_info("task", "%s", json_string_value(json_array_get(news, i)));
}

static enum term_style style_of(const char *state)
{
	if (streq(state, "done"))
		return STYLE_GREEN;
	if (streq(state, "busy"))
		return STYLE_CYAN;
	if (streq(state, "decide"))
		return STYLE_YELLOW;
	return streq(state, "ready") || streq(state, "waits") ? STYLE_NONE : STYLE_RED;
}

static const char *state_of(const json_t *t)
{
	return json_is_true(json_object_get(t, "waits")) ? "waits" : text_of(t, "state");
}

static void print_table(struct cli *cli, const json_t *tasks)
{
	static const struct table_column columns[] = {{"ID", .keep = true},
						      {"STATE", .keep = true},
						      {"TRIES", .right = true, .keep = true},
						      {"TITLE"},
						      {"WHY"}};
	cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < json_array_size(tasks); i++) {
		const json_t *t = json_array_get(tasks, i);

		table_cell(table, text_of(t, "id"));
		table_styled(table, style_of(state_of(t)), state_of(t));
		table_cellf(table, "%lld",
			    (long long)json_integer_value(json_object_get(t, "attempts")));
		table_cell(table, text_of(t, "title"));
		table_cell(table, text_of(t, "why"));
	}
	table_print(table, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static void print_ids(const json_t *tasks)
{
	for (size_t i = 0; i < json_array_size(tasks); i++)
		term_line(stdout, "%s", text_of(json_array_get(tasks, i), "id"));
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct task_args *args = args_;
	cleanup_json json_t *j = NULL;
	int r = query(cli, "ls", args, argc > 0 ? argv[0] : NULL, NULL, &j);

	if (r < 0)
		return r;
	if (args->json) {
		print_json(j);
		return 0;
	}
	if (args->quiet) {
		print_ids(json_object_get(j, "tasks"));
		return 0;
	}
	print_news(j);
	print_table(cli, json_object_get(j, "tasks"));
	return 0;
}

static const struct opt ls_opts[] = {
	TASK_OPTS,
	{"quiet", 'q', OPT_BOOL, AT(quiet), NULL, "print the ids only"},
};

static const struct command cmd_task_ls = {
	.name = "ls",
	.operands = "[PATH]",
	.summary = "list the tasks and where each stands",
	OPTIONS(ls_opts, struct task_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_ls_run,
};

static void print_text(const char *name, const char *text)
{
	if (!*text)
		return;
	(void)printf("\n%s\n", name);
	for (;;) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);

		(void)fputs("  ", stdout);
		term_puts(stdout, line);
		(void)putchar('\n');
		if (!text[n])
			return;
		text += n + 1;
	}
}

static void print_strings(const char *name, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	(void)printf("\n%s\n", name);
	for (size_t i = 0; i < json_array_size(list); i++) {
		(void)fputs("  - ", stdout);
		term_puts(stdout, json_string_value(json_array_get(list, i)));
		(void)putchar('\n');
	}
}

static void print_task(struct cli *cli, const json_t *t)
{
	bool color = cli_color(cli, STDOUT_FILENO);

	term_styled(stdout, color, STYLE_BOLD, text_of(t, "id"));
	(void)fputs("  ", stdout);
	term_puts(stdout, text_of(t, "title"));
	(void)putchar('\n');
	term_styled(stdout, color, style_of(state_of(t)), state_of(t));
	if (*text_of(t, "why")) {
		(void)fputs(": ", stdout);
		term_puts(stdout, text_of(t, "why"));
	}
	(void)printf(", %lld tries", (long long)json_integer_value(json_object_get(t, "attempts")));
	if (*text_of(t, "commit")) {
		(void)fputs(", commit ", stdout);
		term_puts(stdout, text_of(t, "commit"));
	}
	(void)putchar('\n');
	print_text("Description", text_of(t, "description"));
	print_strings("Done when", json_object_get(t, "criteria"));
	print_strings("Depends on", json_object_get(t, "depends"));
	print_strings("Verified by", json_object_get(t, "verify"));
	print_text("Notes", text_of(t, "notes"));
}

static int cmd_show_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct task_args *args = args_;
	cleanup_json json_t *j = NULL;
	int r = query(cli, "show", args, argc > 1 ? argv[1] : NULL, argv[0], &j);

	if (r < 0)
		return r;
	if (args->json)
		print_json(j);
	else
		print_task(cli, j);
	return 0;
}

static const struct command cmd_task_show = {
	.name = "show",
	.operands = "ID [PATH]",
	.summary = "print all that is known of a task",
	OPTIONS(task_opts, struct task_args),
	.min_operands = 1,
	.max_operands = 2,
	.complete = COMPLETE_TASK,
	.run = cmd_show_run,
};

static int cmd_reopen_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct task_args *args = args_;
	cleanup_json json_t *j = NULL;
	int r = query(cli, "reopen", args, argc > 1 ? argv[1] : NULL, argv[0], &j);

	if (r < 0)
		return r;
	if (args->json) {
		print_json(j);
		return 0;
	}
	print_news(j);
	term_puts(stdout, argv[0]);
	(void)puts(" is ready again");
	return 0;
}

static const struct command cmd_task_reopen = {
	.name = "reopen",
	.operands = "ID [PATH]",
	.summary = "have a task worked on again, from its first try",
	OPTIONS(task_opts, struct task_args),
	.min_operands = 1,
	.max_operands = 2,
	.complete = COMPLETE_TASK,
	.run = cmd_reopen_run,
};

static const struct command *const task_subs[] = {&cmd_task_ls, &cmd_task_show, &cmd_task_reopen,
						  NULL};

const struct command cmd_task = {
	.name = "task",
	.summary = "list, show and reopen the tasks of a loop",
	.group = GROUP_LOOP,
	.subs = task_subs,
};
