#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "cli/net-common.h"
#include "base/text/table.h"
#include "netrules/groups.h"
#include "policy/rule-json.h"

extern char **environ;

struct json_args {
	bool json;
};

#define AT(member) offsetof(struct json_args, member)

static const struct opt json_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

static void print_json(json_t *j)
{
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void ls_json(const struct sandbox_spec *spec, const char *state)
{
	cleanup_json json_t *net = net_policy_to_json(&spec->net);
	cleanup_json json_t *j = json_pack("{ss ss}", "sandbox", spec->name, "state", state);

	(void)json_object_update(j, net);
	(void)json_object_set_new(j, "provider_tools", json_strv(&spec->provider_tools));
	print_json(j);
}

static void ls_table(struct cli *cli, const struct sandbox_spec *spec)
{
	static const struct table_column columns[] = {
		{"VERDICT", .keep = true}, {"PATTERN"}, {"INSPECTED"}, {"FROM"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < spec->net.n_rules; i++) {
		const struct net_rule *r = &spec->net.rules[i];
		cleanup_free char *what = net_inspection(r);

		table_styled(t, r->deny ? STYLE_RED : STYLE_GREEN, r->deny ? "deny" : "allow");
		table_cell(t, r->pattern);
		table_cell(t, what);
		table_styled(t, STYLE_DIM, r->source ? r->source : "-");
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct json_args *args = args_;
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_free char *tools = NULL;
	const char *state = NULL;
	int r = net_effective(cli, argc ? argv[0] : NULL, &spec, &state);

	if (r < 0)
		return r;
	if (args->json) {
		ls_json(spec, state);
		return 0;
	}
	tools = spec_tools_text(spec);
	(void)printf("sandbox %s (%s), tier %s, provider tools: %s\n", spec->name, state,
		     policy_tier_name(spec->net.tier), tools);
	if (spec->net.n_rules)
		ls_table(cli, spec);
	return 0;
}

static const struct command cmd_net_ls = {
	.name = "ls",
	.operands = "[NAME]",
	.summary = "list the tier and all rules that hold",
	.flags = CMD_CONFIG,
	OPTIONS(json_opts, struct json_args),
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_ls_run,
};

static json_t *group_json(const struct group *g, const struct groups_env *env)
{
	json_t *j = json_pack("{ss ss}", "name", g->name, "help", g->help);
	cleanup_strv struct strv hosts;
	struct err err = {0};

	strv_init(&hosts);
	if (groups_expand(g->name, env, &hosts, &err) < 0)
		(void)json_object_set_new(j, "error", json_text(err.msg));
	else
		(void)json_object_set_new(j, "hosts", json_strv(&hosts));
	return j;
}

static void groups_print(struct cli *cli, json_t *rows)
{
	bool color = cli_color(cli, STDOUT_FILENO);
	json_t *row, *host;
	size_t i, k;

	json_array_foreach (rows, i, row) {
		const char *error = json_string_value(json_object_get(row, "error"));

		term_styled(stdout, color, STYLE_BOLD,
			    json_string_value(json_object_get(row, "name")));
		(void)printf("  %s\n", json_string_value(json_object_get(row, "help")));
		json_array_foreach (json_object_get(row, "hosts"), k, host) {
			(void)fputs("    ", stdout);
			term_puts(stdout, json_string_value(host));
			(void)putchar('\n');
		}
		if (!error)
			continue;
		(void)fputs("    ", stdout);
		term_styled(stdout, color, STYLE_YELLOW, error);
		(void)putchar('\n');
	}
}

static int cmd_groups_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct json_args *args = args_;
	cleanup_free char *here = getcwd(NULL, 0);
	const struct groups_env env = {.environ = environ, .workspace = here};
	cleanup_json json_t *rows = json_array();
	size_t n = 0;
	const struct group *groups = groups_list(&n);

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(rows, group_json(&groups[i], &env));
	if (args->json)
		print_json(rows);
	else
		groups_print(cli, rows);
	return 0;
}

static const struct command cmd_net_groups = {
	.name = "groups",
	.summary = "list the named groups and the hosts they stand for here",
	OPTIONS(json_opts, struct json_args),
	.run = cmd_groups_run,
};

static const struct command *const net_subs[] = {
	&cmd_net_log, &cmd_net_check, &cmd_net_allow,  &cmd_net_deny,
	&cmd_net_rm,  &cmd_net_ls,    &cmd_net_groups, NULL,
};

const struct command cmd_net = {
	.name = "net",
	.summary = "show and change which hosts sandboxes may reach",
	.group = GROUP_MANAGE,
	.subs = net_subs,
};
