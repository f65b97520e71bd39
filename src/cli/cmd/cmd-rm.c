#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>

#include "cli/for-each-sandbox.h"
#include "live/live.h"

struct rm_args {
	bool all, force;
};

#define AT(member) offsetof(struct rm_args, member)

static const struct opt rm_opts[] = {
	{"all", 'a', OPT_BOOL, AT(all), NULL, "remove every sandbox, running ones too"},
	{"force", 'f', OPT_BOOL, AT(force), NULL, "also when it is running; ends its commands"},
};

static int rm_one(const struct places *p, const char *name, void *args_, struct err *err)
{
	const struct rm_args *args = args_;

	return live_remove(p, name, args->force || args->all, err);
}

static int cmd_rm_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct rm_args *args = args_;

	return for_each_sandbox(cli, args->all, argc, argv, rm_one, args_);
}

const struct command cmd_rm = {
	.name = "rm",
	.operands = "NAME…",
	.summary = "remove sandboxes with their homes; the workspaces stay",
	.group = GROUP_MANAGE,
	OPTIONS(rm_opts, struct rm_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_rm_run,
};
