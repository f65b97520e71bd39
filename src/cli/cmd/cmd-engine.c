#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/text/table.h"
#include "base/text/term.h"
#include "engine/engine.h"

struct engine_args {
	bool json;
};

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct engine_args, json), NULL, "print JSON"},
};

static void add_json(json_t *rows, const struct engine_about *a, const struct err *why, bool usable)
{
	(void)json_array_append_new(rows, json_pack("{ss ss ss ss sb so*}", "name", a->name, "wall",
						    a->wall, "holds", a->holds, "costs", a->costs,
						    "usable", usable, "why",
						    usable ? NULL : json_text(why->msg)));
}

static void put_why(const char *name, const struct err *why)
{
	(void)printf("\n%s: ", name);
	term_puts(stdout, why->msg);
	(void)putchar('\n');
}

/* Sentences are below the table, where they are never cut. */
static void print_table(struct cli *cli, const struct err *why, const bool *usable, size_t n)
{
	static const struct table_column columns[] = {
		{"ENGINE", .keep = true}, {"HERE", .keep = true}, {"THE WALL"}, {"COSTS"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	struct engine_about a;

	for (size_t i = 0; i < n && engine_about(i, &a); i++) {
		table_cell(t, a.name);
		table_styled(t, usable[i] ? STYLE_GREEN : STYLE_YELLOW,
			     usable[i] ? "usable" : "not usable");
		table_cell(t, a.wall);
		table_cell(t, a.costs);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
	(void)printf("\nholds against:\n");
	for (size_t i = 0; i < n && engine_about(i, &a); i++)
		(void)printf("  %-15s %s\n", a.name, a.holds);
	for (size_t i = 0; i < n && engine_about(i, &a); i++)
		if (!usable[i])
			put_why(a.name, &why[i]);
}

static int engine_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct engine_args *args = args_;
	cleanup_json json_t *rows = json_array();
	cleanup_free struct err *why = NULL;
	cleanup_free bool *usable = NULL;
	struct engine_about a;
	size_t n = 0;

	while (engine_about(n, &a))
		n++;
	why = xcalloc(n, sizeof(*why));
	usable = xcalloc(n, sizeof(*usable));
	for (size_t i = 0; i < n && engine_about(i, &a); i++) {
		usable[i] = engine_probe(a.name, &why[i]) == 0;
		add_json(rows, &a, &why[i], usable[i]);
	}
	if (!args->json) {
		print_table(cli, why, usable, n);
		return EXIT_OK;
	}
	if (json_show(rows, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return EXIT_OK;
}

static const struct command engine_ls = {
	.name = "ls",
	.summary = "compare the engines, and say which are usable here",
	.details = "Each engine is tried: native and gvisor start a sandbox with nothing in it,\n"
		   "the others ask their programs. Nothing is fetched or built.",
	OPTIONS(ls_opts, struct engine_args),
	.run = engine_ls_run,
};

static const struct command *const engine_subs[] = {&engine_ls, &cmd_engine_setup, NULL};

const struct command cmd_engine = {
	.name = "engine",
	.summary = "compare and prepare what sandboxes are made with",
	.group = GROUP_CONFIG,
	.subs = engine_subs,
};
