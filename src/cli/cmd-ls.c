#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/table.h"
#include "sandbox/live.h"
#include "sandbox/record.h"
#include "sandbox/store.h"

struct ls_args {
	bool json, quiet;
};

#define AT(member) offsetof(struct ls_args, member)

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
	{"quiet", 'q', OPT_BOOL, AT(quiet), NULL, "print names only"},
};

/* One row, from the record and from the supervisor where there is one. A record that cannot be
 * read is listed as damaged, so that it can be removed. */
static json_t *describe(const struct places *p, const char *name)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *live = NULL;
	struct record record;
	struct err err = {0};
	json_t *j;

	if (store_open(p, name, false, &e, &err) < 0)
		return NULL; /* removed meanwhile */
	(void)store_read_spec(&e, &spec, &err);
	(void)live_inspect(p, name, &live, &err);
	record_read(&e, &record);
	j = json_pack("{ss ss sI sI sI}", "name", name, "state",
		      live   ? "running"
		      : spec ? "stopped"
			     : "damaged",
		      "created", (json_int_t)record.created, "used", (json_int_t)record.used, "size",
		      (json_int_t)record.size);
	if (spec)
		(void)json_object_update_new(j, json_pack("{ss ss so ss*}", "agent", spec->agent,
							  "engine", spec->engine, "workspace",
							  json_text(spec->workspace), "branch",
							  spec->branch));
	if (live)
		(void)json_object_update(j, live);
	return j;
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "-";
}

/* How long ago, in the largest unit that says enough. */
static char *ago(const json_t *row, const char *key)
{
	time_t at = (time_t)json_integer_value(json_object_get(row, key)), now = time(NULL);
	long long s = now > at ? (long long)(now - at) : 0;

	if (at == 0)
		return xstrdup("-");
	if (s < 120)
		return xasprintf("%llds", s);
	if (s < 7200)
		return xasprintf("%lldm", s / 60);
	return s < 172800 ? xasprintf("%lldh", s / 3600) : xasprintf("%lldd", s / 86400);
}

static char *size_of(const json_t *row)
{
	unsigned long long n =
		(unsigned long long)json_integer_value(json_object_get(row, "size"));

	if (n < 10 * MiB)
		return xasprintf("%lluK", (n + KiB - 1) / KiB);
	return n < 10 * GiB ? xasprintf("%lluM", n / MiB) : xasprintf("%lluG", n / GiB);
}

static void print_table(struct cli *cli, json_t *rows)
{
	static const struct table_column columns[] = {
		{"NAME", .keep = true},
		{"STATE", .keep = true},
		{"AGENT"},
		{"ENGINE"},
		{"AGE", .right = true, .keep = true},
		{"SIZE", .right = true, .keep = true},
		{"USED", .right = true, .keep = true},
		{"WORKSPACE"},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		cleanup_free char *age = ago(row, "created"), *used = ago(row, "used"),
				  *size = size_of(row);
		bool running = streq(text_of(row, "state"), "running");

		table_cell(t, text_of(row, "name"));
		table_styled(t, running ? STYLE_GREEN : STYLE_NONE, text_of(row, "state"));
		table_cell(t, text_of(row, "agent"));
		table_cell(t, text_of(row, "engine"));
		table_cell(t, age);
		table_cell(t, size);
		table_cell(t, running ? "now" : used);
		table_cell(t, text_of(row, "workspace"));
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
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
		(void)json_dumpf(rows, stdout, JSON_INDENT(2));
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
