#include <stdio.h>
#include <string.h>

#include "build-config.h"
#include "cli/frame/command.h"
#include "cli/commands.h"
#include "cli/complete-known.h"
#include "cli/frame/complete.h"
#include "cli/frame/help.h"

static int help_run(struct cli *cli, void *args, int argc, char **argv)
{
	const struct command *c = NULL;
	char prefix[32] = "";
	int used = 0;
	int r;

	if (argc == 0) {
		help_overview(commands, true, stdout);
		return 0;
	}
	r = command_lookup(commands, argc, argv, &used, &c, &cli->err);
	if (r < 0)
		return r;
	if (argc > used)
		return cli_usage(cli, "unexpected operand '%s'", argv[used]);
	if (used > 1)
		(void)snprintf(prefix, sizeof(prefix), "%s ",
			       command_find(commands, argv[0])->name);
	help_command(c, prefix, stdout);
	return 0;
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "explain a command",
	.group = GROUP_MISC,
	.max_operands = 2,
	.complete = COMPLETE_SUBCOMMAND,
	.run = help_run,
};

static int version_run(struct cli *cli, void *args, int argc, char **argv)
{
	(void)puts("ralph " RALPH_VERSION);
	return 0;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "show the version",
	.group = GROUP_MISC,
	.run = version_run,
};

static int completion_run(struct cli *cli, void *args, int argc, char **argv)
{
	complete_use(complete_known);
	if (streq(argv[0], "bash"))
		complete_bash(commands, stdout);
	else if (streq(argv[0], "zsh"))
		complete_zsh(commands, stdout);
	else if (streq(argv[0], "fish"))
		complete_fish(commands, stdout);
	else
		return cli_usage(cli, "no completion for '%s'; there is bash, zsh and fish",
				 argv[0]);
	return 0;
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

const struct command cmd_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.summary = "print a completion script for a shell",
	.details = "Installed already where the shells look for them; elsewhere:\n"
		   "\n"
		   "bash:  source <(ralph completion bash)\n"
		   "zsh:   source <(ralph completion zsh)\n"
		   "fish:  ralph completion fish | source",
	.group = GROUP_MISC,
	.min_operands = 1,
	.max_operands = 1,
	.words = shells,
	.run = completion_run,
};
