#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/show/audit.h"
#include "cli/run-operands.h"
#include "cli/settings.h"

struct audit_args {
	const char *name, *dir;
	bool json, clone;
};

#define AT(member) offsetof(struct audit_args, member)

/* clang-format off */
static const struct opt audit_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	{"workspace", 'C', OPT_STR, AT(dir), "PATH", "the workspace, instead of the current directory",
	 .complete = COMPLETE_DIR},
	{"clone", 0, OPT_BOOL, AT(clone), NULL, "as with 'ralph run --clone'"},
	SETTINGS_OPTS,
};
/* clang-format on */

static int print_json(struct cli *cli, const struct config *c, const struct sandbox_spec *spec)
{
	cleanup_json json_t *j = NULL, *place = audit_place_json(c, spec);
	int r = audit_to_json(spec, &j, &cli->err);

	if (r < 0)
		return r;
	if (place)
		(void)json_object_set(j, "placement", place);
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	return 0;
}

static int cmd_audit_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct audit_args *args = args_;
	struct settings_target target = {.name = args->name, .clone = args->clone};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	int rest, r = run_operands(cli, args->dir, argc, argv, &target, &rest);

	if (r == 0)
		r = settings_build(cli, &target, &s, &b);
	if (r < 0)
		return r;
	if (args->json)
		return print_json(cli, s.config, b.spec);
	r = audit_print(b.spec, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO),
			&cli->err);
	if (r == 0)
		audit_print_place(s.config, b.spec, stdout, cli_color(cli, STDOUT_FILENO));
	return r;
}

const struct command cmd_audit = {
	.name = "audit",
	.operands = "AGENT [ARG…] | [PATH] [-- CMD [ARG…]]",
	.summary = "show what a sandbox would have, and start nothing",
	.details = "Shows every variable, mount, host, credential and limit that the same call of\n"
		   "'ralph run' would give. [~] is set by the sandbox, [>] passed from the host,\n"
		   "[+] added by you. Values that look like secrets are masked.\n"
		   "\n"
		   "'ralph run' shows a summary of it before a command gets a terminal, and asks,\n"
		   "only when the sandbox is new or has changed since you last agreed.",
	.group = GROUP_RUN,
	.flags = CMD_CONFIG,
	OPTIONS(audit_opts, struct audit_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_DIR,
	.words = agent_words,
	.ends = run_operand_ends,
	.run = cmd_audit_run,
};
