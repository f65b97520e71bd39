#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>

#include "base/log.h"
#include "cli/for-each-sandbox.h"
#include "live/live.h"
#include "workspace/nested.h"

struct rm_args {
	bool all, force;
};

#define AT(member) offsetof(struct rm_args, member)

static const struct opt rm_opts[] = {
	{"all", 'a', OPT_BOOL, AT(all), NULL, "remove every sandbox, running ones too"},
	{"force", 'f', OPT_BOOL, AT(force), NULL, "also when it is running; ends its commands"},
};

/* Git directories that appeared may be the user's: they stay. */
static void tell_kept(const struct places *p, const char *name)
{
	cleanup_(nested_done) struct nested_list l = {0};
	struct err ignored;
	size_t n = 0;

	if (nested_find(p, NULL, &l, &ignored) < 0)
		return;
	for (size_t i = 0; i < l.n; i++)
		n += streq(l.v[i].sandbox, name);
	if (n)
		log_warn("rm", "%zu git %s that appeared while '%s' ran %s kept; see: ralph adopt",
			 n, n == 1 ? "directory" : "directories", name, n == 1 ? "is" : "are");
}

static int rm_one(const struct places *p, const char *name, void *args_, struct err *err)
{
	const struct rm_args *args = args_;

	int r = live_remove(p, name, args->force || args->all, err);

	if (r == 0)
		tell_kept(p, name);
	return r;
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
