#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text/human.h"
#include "base/text/table.h"
#include "live/git-repo.h"
#include "live/live.h"
#include "record/record.h"
#include "record/store.h"

struct ls_args {
	bool json, quiet;
};

#define AT(member) offsetof(struct ls_args, member)

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
	{"quiet", 'q', OPT_BOOL, AT(quiet), NULL, "print names only"},
};

static void add_facts(const struct places *p, const char *name, json_t *row)
{
	struct record_facts f = {0};
	struct err ignored = {0};
	bool partial = false;
	uint64_t size = 0;

	if (record_look(p, name, &f, &ignored) < 0)
		return;
	if (f.born)
		(void)json_object_set_new(row, "created", json_integer((json_int_t)f.born));
	if (f.used)
		(void)json_object_set_new(row, "last_used", json_integer((json_int_t)f.used));
	if (f.workspace)
		(void)json_object_set_new(row, "workspace_gone", json_boolean(f.gone));
	if (record_size(p, name, &size, &partial, &ignored) == 0) {
		(void)json_object_set_new(row, "size", json_integer((json_int_t)size));
		if (partial)
			(void)json_object_set_new(row, "size_partial", json_true());
	}
	record_done(&f);
}

/* One row, from the record and from the supervisor where there is one. A record that cannot be
 * read is listed as damaged, so that it can be removed. */
static json_t *describe(const struct places *p, const char *name)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *live = NULL;
	struct err err = {0};
	json_t *j;

	if (store_open(p, name, false, &e, &err) < 0)
		return NULL; /* removed meanwhile */
	(void)store_read_spec(&e, &spec, &err);
	(void)live_inspect(p, name, &live, &err);
	j = json_pack("{ss ss}", "name", name, "state",
		      live   ? "running"
		      : spec ? "stopped"
			     : "damaged");
	if (spec)
		(void)json_object_update_new(j, json_pack("{ss ss so ss*}", "agent", spec->agent,
							  "engine", spec->engine, "workspace",
							  json_text(spec->workspace), "branch",
							  spec->branch));
	if (live)
		(void)json_object_update(j, live);
	git_repo_put(p, name, j);
	add_facts(p, name, j);
	return j;
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

/* Returns how long ago a time of the record was; "-" if the record has none. */
static char *since(const json_t *row, const char *key)
{
	uint64_t then = number_of(row, key), now = (uint64_t)time(NULL);

	if (!then)
		return xstrdup("-");
	return human_span(now > then ? now - then : 0);
}

static void print_row(struct table *t, const json_t *row)
{
	bool running = streq(text_of(row, "state"), "running");
	cleanup_free char *age = since(row, "created"), *size = human_size(number_of(row, "size"));
	cleanup_free char *used = running ? xstrdup("now") : since(row, "last_used");

	table_cell(t, text_of(row, "name"));
	table_cell(t, text_of(row, "agent"));
	table_cell(t, text_of(row, "engine"));
	table_styled(t, running ? STYLE_GREEN : STYLE_NONE, text_of(row, "state"));
	table_cell(t, age);
	table_cellf(t, "%s%s", json_is_true(json_object_get(row, "size_partial")) ? ">" : "", size);
	table_cell(t, used);
	table_cell(t, text_of(row, "workspace"));
}

/* A fault of a running sandbox does not fit a column, and is no row of the result. */
static void print_note(const json_t *row)
{
	uint64_t n = number_of(row, "gateway_ends");

	if (!n)
		return;
	(void)fprintf(stderr,
		      "ralph: the gateway of '%s' ended %llu time%s: ", text_of(row, "name"),
		      (unsigned long long)n, n > 1 ? "s" : "");
	term_puts(stderr, text_of(row, "gateway_why"));
	(void)fprintf(stderr, "; see: ralph events %s\n", text_of(row, "name"));
}

static void print_table(struct cli *cli, json_t *rows)
{
	static const struct table_column columns[] = {
		{"NAME", .keep = true},
		{"AGENT", .keep = true, .drop = 3},
		{"ENGINE", .keep = true, .drop = 5},
		{"STATE", .keep = true},
		{"AGE", .right = true, .keep = true, .drop = 4},
		{"SIZE", .right = true, .keep = true, .drop = 2},
		{"USED", .right = true, .keep = true, .drop = 1},
		{"WORKSPACE", .drop = 6, .least = 16},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		print_row(t, row);
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
	json_array_foreach (rows, i, row)
		print_note(row);
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ls_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *rows = json_array();
	cleanup_strv struct strv names;
	int r;

	strv_init(&names);
	r = places_find(&p, &cli->err);
	if (r == 0)
		r = store_list(&p, &names, &cli->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		json_t *row;

		if (args->quiet && !args->json) {
			(void)puts(names.v[i]);
			continue;
		}
		row = describe(&p, names.v[i]);
		if (row)
			(void)json_array_append_new(rows, row);
	}
	if (args->json) {
		(void)json_show(rows, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else if (!args->quiet) {
		print_table(cli, rows);
	}
	return 0;
}

const struct command cmd_ls = {
	.name = "ls",
	.summary = "list the sandboxes",
	.group = GROUP_MANAGE,
	OPTIONS(ls_opts, struct ls_args),
	.run = cmd_ls_run,
};
