#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "cli/settings.h"
#include "base/text/table.h"

struct show_args {
	bool origin, json;
};

#define AT(member) offsetof(struct show_args, member)

static const struct opt show_opts[] = {
	{"origin", 0, OPT_BOOL, AT(origin), NULL, "say where each value comes from"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

static void print_json(const struct config_entry *e, size_t n)
{
	cleanup_json json_t *all = json_object();

	for (size_t i = 0; i < n; i++)
		(void)json_object_set_new(all, e[i].key,
					  json_pack("{so so}", "value", json_text(e[i].value),
						    "origin", json_text(e[i].origin)));
	(void)json_show(all, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void print_text(struct cli *cli, const struct config_entry *e, size_t n, bool origin)
{
	static const struct table_column columns[] = {{NULL, .keep = true}, {NULL}, {NULL}};
	cleanup_(table_freep) struct table *t = table_new(columns, origin ? 3 : 2);

	for (size_t i = 0; i < n; i++) {
		table_cell(t, e[i].key);
		table_cell(t, e[i].value);
		if (origin)
			table_styled(t, STYLE_DIM, e[i].origin);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int cmd_show_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct show_args *args = args_;
	cleanup_settings struct settings s = {0};
	struct config_entry *entries = NULL;
	size_t n = 0;
	int r = settings_load(cli, NULL, &s);

	if (r < 0)
		return r;
	r = config_entries(s.config, &entries, &n);
	if (r < 0)
		return err_sys(&cli->err, -r, "cannot list the settings");
	if (args->json)
		print_json(entries, n);
	else
		print_text(cli, entries, n, args->origin);
	config_entries_free(entries, n);
	return 0;
}

static const struct command cmd_show = {
	.name = "show",
	.summary = "print every setting as it holds here",
	.details = "Here: in the current directory, whose project file is .ralph/config.yaml.\n"
		   "The keys are in ralph-config(5).",
	.flags = CMD_CONFIG,
	OPTIONS(show_opts, struct show_args),
	.run = cmd_show_run,
};

static const struct command *const config_subs[] = {&cmd_show, NULL};

const struct command cmd_config = {
	.name = "config",
	.summary = "show the settings",
	.group = GROUP_CONFIG,
	.subs = config_subs,
};
