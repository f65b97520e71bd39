#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/table.h"
#include "live/live.h"
#include "live/net-change.h"
#include "record/asks.h"
#include "record/store.h"

extern char **environ;

/* ---- the queue of all sandboxes ---- */

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* Opens the sandbox and reads its queue; a sandbox that goes at this moment has none. */
static json_t *queue_of(const struct places *p, const char *name, struct store_entry *e)
{
	struct err ignored = {0};
	json_t *asks = NULL;

	if (store_open(p, name, false, e, &ignored) < 0 || asks_read(e->dir, &asks, &ignored) < 0)
		return NULL;
	return asks;
}

static json_t *rows_of(const struct places *p, bool all, struct err *err)
{
	cleanup_strv struct strv names = {0};
	json_t *rows = NULL, *a;
	size_t k;

	if (store_names(p, &names, err) < 0)
		return NULL;
	rows = json_array();
	for (size_t i = 0; i < names.n; i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		cleanup_json json_t *asks = queue_of(p, names.v[i], &e);

		json_array_foreach (asks, k, a) {
			if (!all && !ask_is_open(a))
				continue;
			(void)json_object_set_new(a, "sandbox", json_string(names.v[i]));
			(void)json_array_append(rows, a);
		}
	}
	return rows;
}

struct found {
	struct store_entry e;
	json_t *ask;
	char *sandbox;
};

static void found_done(struct found *f)
{
	store_close(&f->e);
	json_decref(f->ask);
	free(f->sandbox);
}

static int find_ask(const struct places *p, const char *id, struct found *ret, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_names(p, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		cleanup_json json_t *asks = queue_of(p, names.v[i], &e);
		json_t *a = asks_find(asks, id);

		if (!a)
			continue;
		ret->e = e;
		e = (struct store_entry)STORE_ENTRY_INIT;
		ret->ask = json_incref(a);
		ret->sandbox = xstrdup(names.v[i]);
		return 0;
	}
	return r < 0 ? r : err_set(err, ENOENT, "there is no ask '%s'; see: ralph ask ls", id);
}

/* ---- ls, show ---- */

struct ls_args {
	bool json, all;
};

/* clang-format off */
static const struct opt ls_opts[] = {
	{"all", 'a', OPT_BOOL, offsetof(struct ls_args, all), NULL, "those that are answered too"},
	{"json", 0, OPT_BOOL, offsetof(struct ls_args, json), NULL, "print JSON"},
};
static const struct opt show_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct ls_args, json), NULL, "print JSON"},
};
/* clang-format on */

static void when_of(const json_t *row, char ret[32])
{
	time_t at = (time_t)json_integer_value(json_object_get(row, "at"));
	struct tm tm;

	ret[0] = '\0';
	if (localtime_r(&at, &tm))
		(void)strftime(ret, 32, "%H:%M:%S", &tm);
}

static void print_rows(struct cli *cli, const json_t *rows)
{
	static const struct table_column columns[] = {
		{"ID", .keep = true},
		{"WHEN", .keep = true},
		{"SANDBOX"},
		{"KIND"},
		{"WHAT"},
		{"STATE"},
		{"WHY"},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	json_t *row;
	char when[32];
	size_t i;

	json_array_foreach (rows, i, row) {
		when_of(row, when);
		table_cell(t, text_of(row, "id"));
		table_cell(t, when);
		table_cell(t, text_of(row, "sandbox"));
		table_cell(t, text_of(row, "kind"));
		table_cell(t, text_of(row, "what"));
		table_cell(t, text_of(row, "state"));
		table_cell(t, text_of(row, "why"));
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int show_json(struct cli *cli, const json_t *j)
{
	if (json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return 0;
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ls_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *rows = NULL;
	int r = places_find(&p, &cli->err);

	(void)argc;
	(void)argv;
	if (r < 0)
		return r;
	rows = rows_of(&p, args->all, &cli->err);
	if (!rows)
		return -EIO;
	if (args->json)
		return show_json(cli, rows);
	print_rows(cli, rows);
	return 0;
}

static void print_line(const char *name, const char *value)
{
	if (!*value)
		return;
	(void)printf("%-8s ", name);
	term_puts(stdout, value);
	(void)putchar('\n');
}

static int cmd_show_run(struct cli *cli, void *args_, int argc, char **argv)
{
	static const char *const keys[] = {"id",    "sandbox", "kind",	"what",
					   "state", "scope",   "answer"};
	const struct ls_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_(found_done) struct found f = {.e = STORE_ENTRY_INIT};
	json_t *choice;
	size_t k;
	int r = places_find(&p, &cli->err);

	(void)argc;
	if (r == 0)
		r = find_ask(&p, argv[0], &f, &cli->err);
	if (r < 0)
		return r;
	(void)json_object_set_new(f.ask, "sandbox", json_string(f.sandbox));
	if (args->json)
		return show_json(cli, f.ask);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		print_line(keys[i], text_of(f.ask, keys[i]));
	/* An agent's words, said so: nobody has checked them. */
	print_line("it says", text_of(f.ask, "why"));
	json_array_foreach (json_object_get(f.ask, "choices"), k, choice)
		print_line("choice", json_string_value(choice));
	return 0;
}

/* ---- allow, deny ---- */

struct allow_args {
	bool once, sandbox, loop, project;
};

#define AT(member) offsetof(struct allow_args, member)
/* clang-format off */
static const struct opt allow_opts[] = {
	{"once", 0, OPT_BOOL, AT(once), NULL, "a host: for 10 minutes in this sandbox (the default)"},
	{"sandbox", 0, OPT_BOOL, AT(sandbox), NULL, "a host: for this sandbox"},
	{"loop", 0, OPT_BOOL, AT(loop), NULL, "a host: for the sandbox's loop with all its workers"},
	{"project", 0, OPT_BOOL, AT(project), NULL, "a host: for every sandbox of the project"},
};
/* clang-format on */

static enum net_scope scope_of(const struct allow_args *a)
{
	return a->sandbox   ? NET_SCOPE_SANDBOX
	       : a->loop    ? NET_SCOPE_LOOP
	       : a->project ? NET_SCOPE_PROJECT
			    : NET_SCOPE_ONCE;
}

static int allow_host(struct cli *cli, const struct places *p, const struct found *f,
		      enum net_scope scope)
{
	cleanup_(net_changed_done) struct net_changed done = {0};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	char *what = (char *)(uintptr_t)text_of(f->ask, "what");
	struct net_change c = {.places = p,
			       .environ = environ,
			       .verb = NET_ALLOW,
			       .scope = scope,
			       .sandbox = f->sandbox,
			       .patterns = &what,
			       .n_patterns = 1};
	int r = store_read_spec(&f->e, &spec, &cli->err);

	if (r == 0 && scope == NET_SCOPE_LOOP && !spec->loop)
		r = err_usage(&cli->err, "sandbox '%s' works for no loop; leave out --loop",
			      f->sandbox);
	if (r < 0)
		return r;
	c.instance = spec->instance;
	c.workspace = spec->workspace;
	c.loop = spec->loop;
	if (scope == NET_SCOPE_ONCE)
		c.until = (uint64_t)time(NULL) + ASK_ONCE_S;
	r = net_change(&c, &done, &cli->err);
	for (size_t i = 0; i < done.notes.n; i++)
		log_warn("ask", "%s", done.notes.v[i]);
	return r;
}

/* The queue first says that it is answered; then the supervisor tells the agent that waits. */
static int answer(struct cli *cli, const struct places *p, const struct found *f, bool allow,
		  const char *scope, const char *text)
{
	const struct ask_answer a = {.id = text_of(f->ask, "id"),
				     .allow = allow,
				     .text = text,
				     .scope = scope,
				     .now = (uint64_t)time(NULL)};
	int r = asks_answer(f->e.dir, &a, NULL, &cli->err);

	if (r < 0)
		return r;
	r = live_event(p, f->sandbox, "ask-answer",
		       json_pack("{ss so ss ss so}", "id", a.id, "what",
				 json_text(text_of(f->ask, "what")), "state",
				 allow ? "allowed" : "denied", "scope", scope, "answer",
				 json_text(text)),
		       &cli->err);
	return r < 0 ? err_wrap(&cli->err, r, "it is answered, but the agent may not know yet") : 0;
}

static int check_open(struct cli *cli, const struct found *f)
{
	if (ask_is_open(f->ask))
		return 0;
	return err_set(&cli->err, EALREADY, "ask '%s' has an answer: %s", text_of(f->ask, "id"),
		       text_of(f->ask, "state"));
}

static int check_text(struct cli *cli, const struct found *f, bool allow, const char *text)
{
	if (strlen(text) > ASK_ANSWER_MAX)
		return cli_usage(cli, "the answer is too long");
	if (allow && !*text && streq(text_of(f->ask, "kind"), "decide"))
		return cli_usage(cli, "say what you decide: ralph ask allow %s TEXT",
				 text_of(f->ask, "id"));
	return 0;
}

static int decide(struct cli *cli, bool allow, const struct allow_args *scopes, char **argv,
		  const char *text)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_(found_done) struct found f = {.e = STORE_ENTRY_INIT};
	const char *scope = "";
	bool is_host;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = find_ask(&p, argv[0], &f, &cli->err);
	if (r == 0)
		r = check_open(cli, &f);
	if (r == 0)
		r = check_text(cli, &f, allow, text);
	if (r < 0)
		return r;
	is_host = streq(text_of(f.ask, "kind"), "host");
	if (allow && is_host) {
		scope = net_scope_name(scope_of(scopes));
		r = allow_host(cli, &p, &f, scope_of(scopes));
	}
	if (r == 0)
		r = answer(cli, &p, &f, allow, scope, text);
	if (r == 0)
		(void)printf("%s: %s%s%s\n", allow ? "allowed" : "denied", text_of(f.ask, "id"),
			     *scope ? ", " : "", scope);
	return r;
}

static int cmd_allow_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct allow_args *a = args_;

	if (a->once + a->sandbox + a->loop + a->project > 1)
		return cli_usage(cli, "--once, --sandbox, --loop and --project exclude each other");
	return decide(cli, true, a, argv, argc > 1 ? argv[1] : "");
}

static int cmd_deny_run(struct cli *cli, void *args_, int argc, char **argv)
{
	(void)args_;
	return decide(cli, false, NULL, argv, argc > 1 ? argv[1] : "");
}

static const struct command cmd_ask_ls = {
	.name = "ls",
	.summary = "list what agents ask for",
	OPTIONS(ls_opts, struct ls_args),
	.run = cmd_ls_run,
};

static const struct command cmd_ask_show = {
	.name = "show",
	.operands = "ID",
	.summary = "show one, with the agent's words",
	OPTIONS(show_opts, struct ls_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_show_run,
};

static const struct command cmd_ask_allow = {
	.name = "allow",
	.operands = "ID [TEXT]",
	.summary = "say yes, or what you decide",
	.details =
		"A host is allowed by a rule, exactly as 'ralph net allow' would add it. A file\n"
		"does not become writable: you have made the change yourself. The agent reads\n"
		"TEXT; for a question it is the answer.",
	OPTIONS(allow_opts, struct allow_args),
	.min_operands = 1,
	.max_operands = 2,
	.run = cmd_allow_run,
};

static const struct command cmd_ask_deny = {
	.name = "deny",
	.operands = "ID [TEXT]",
	.summary = "say no; the agent reads TEXT",
	.min_operands = 1,
	.max_operands = 2,
	.run = cmd_deny_run,
};

static const struct command *const ask_subs[] = {
	&cmd_ask_ls, &cmd_ask_show, &cmd_ask_allow, &cmd_ask_deny, NULL,
};

const struct command cmd_ask = {
	.name = "ask",
	.summary = "what agents ask a person for: hosts, files, decisions",
	.group = GROUP_LOOP,
	.subs = ask_subs,
};
