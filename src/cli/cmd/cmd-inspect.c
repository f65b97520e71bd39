#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/table.h"
#include "live/git-repo.h"
#include "live/live.h"
#include "record/store.h"
#include "workspace/nested.h"

struct inspect_args {
	bool json;
};

#define AT(member) offsetof(struct inspect_args, member)

static const struct opt inspect_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the whole spec as JSON"},
};

static void print_summary(struct cli *cli, const struct sandbox_spec *s, const json_t *live)
{
	bool color = cli_color(cli, STDOUT_FILENO);
	static const struct table_column columns[] = {{NULL, .keep = true}, {NULL}, {NULL}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	cleanup_free char *agents = spec_agents_text(s);

	(void)printf("%s%s%s  %s\n", term_on(color, STYLE_BOLD), s->name, term_off(color),
		     live ? "running" : "stopped");
	(void)printf("engine %s, agent %s, uid %u, network %s, limits by %s\n", s->engine, agents,
		     s->uid, policy_tier_name(s->net.tier),
		     s->limits.method ? s->limits.method : "-");
	for (size_t i = 0; i < s->n_mounts; i++) {
		table_cell(t, spec_mount_kind_name(s->mounts[i].kind));
		table_cell(t, s->mounts[i].target);
		table_cell(t, s->mounts[i].reason);
	}
	(void)puts("mounts:");
	table_print(t, stdout, term_width(STDOUT_FILENO), color);
}

static int cmd_inspect_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct inspect_args *args = args_;
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(places_done) struct places p = {0};
	cleanup_(nested_done) struct nested_list nested = {0};
	cleanup_json json_t *live = NULL, *j = NULL;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = store_open(&p, argv[0], false, &e, &cli->err);
	if (r == 0)
		r = store_read_spec(&e, &spec, &cli->err);
	if (r == 0)
		r = live_inspect(&p, argv[0], &live, &cli->err);
	if (r < 0 || !spec)
		return r;
	if (!args->json) {
		print_summary(cli, spec, live);
		return 0;
	}
	(void)nested_find(&p, spec->workspace, &nested, &cli->err);
	j = spec_to_json(spec);
	(void)json_object_set_new(j, "nested", nested_list_json(&nested));
	(void)json_object_set_new(j, "state", json_string(live ? "running" : "stopped"));
	if (live)
		(void)json_object_set(j, "live", live);
	git_repo_put(&p, argv[0], j);
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	return 0;
}

const struct command cmd_inspect = {
	.name = "inspect",
	.operands = "NAME",
	.summary = "show everything about a sandbox",
	.details = "What it was last started with: engine, user, network, limits, and each mount\n"
		   "with the reason for it.",
	.group = GROUP_MANAGE,
	OPTIONS(inspect_opts, struct inspect_args),
	.min_operands = 1,
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_inspect_run,
};
