#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/places.h"

static const char *const verbs[] = {"pre-tool-use", "post-tool-use", "stop",
				    "pre-compact",  "settings",	     NULL};

static int cmd_hook_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *hook = NULL;
	char *const line[] = {"hook", argv[0], NULL};
	int r;

	for (const char *const *v = verbs;; v++) {
		if (!*v)
			return cli_usage(cli, "'%s' is no hook", argv[0]);
		if (streq(argv[0], *v))
			break;
	}
	r = places_find(&p, &cli->err);
	if (r < 0)
		return r;
	hook = places_program(&p, "hook");
	(void)execv(hook, line);
	return err_sys(&cli->err, errno, "cannot run '%s'; is ralph installed completely?", hook);
}

const struct command cmd_hook = {
	.name = "hook",
	.operands = "HOOK",
	.summary = "answer a hook of an agent, which asks on stdin",
	.details = "HOOK is pre-tool-use (may this tool run?), post-tool-use (how full is the\n"
		   "context?), stop (is everything committed?) or pre-compact (the context is\n"
		   "full). ralph wires them itself; settings prints what wires them to an agent\n"
		   "that you start yourself: claude --settings \"$(ralph hook settings)\"",
	.group = GROUP_MISC,
	.min_operands = 1,
	.max_operands = 1,
	.words = verbs,
	.run = cmd_hook_run,
};
