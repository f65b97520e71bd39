#include "cli/clone.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"

struct diff_args {
	bool stat;
};

static const struct opt diff_opts[] = {
	{"stat", 0, OPT_BOOL, offsetof(struct diff_args, stat), NULL,
	 "how much has changed in which file"},
};

static int cmd_diff_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct diff_args *args = args_;
	cleanup_clone struct clone c = {0};
	cleanup_free char *tmp = NULL, *flags = NULL;
	struct err ignored;
	int r = clone_open(cli, argv[0], &c);

	if (r < 0)
		return r;
	tmp = xasprintf("%s/diff.XXXXXX", c.places.state);
	if (!mkdtemp(tmp))
		return err_sys(&cli->err, errno, "cannot create '%s'", tmp);
	flags = xasprintf("-%s%s", args->stat ? "s" : "", isatty(STDOUT_FILENO) ? "t" : "");
	{
		const char *const repo[] = {"diff", c.spec->workspace,
					    tmp,    argc > 1 ? argv[1] : c.spec->branch,
					    flags,  NULL};

		r = clone_take(cli, &c, repo, NULL);
	}
	(void)path_remove_tree(AT_FDCWD, tmp, &ignored);
	return r;
}

const struct command cmd_diff = {
	.name = "diff",
	.operands = "NAME [BRANCH]",
	.summary = "what was committed in a sandbox's own clone",
	.details =
		"Of a sandbox that was started with 'ralph run --clone': the difference between\n"
		"the commit that both come from and BRANCH of the clone (the branch that it\n"
		"began with). What is not committed there is not in it.",
	.group = GROUP_MANAGE,
	OPTIONS(diff_opts, struct diff_args),
	.min_operands = 1,
	.max_operands = 2,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_diff_run,
};
