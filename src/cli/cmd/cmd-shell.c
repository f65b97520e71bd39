#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "cli/exec.h"

void exec_shell_argv(struct strv *argv)
{
	/* The shell of the sandbox's own user, as its passwd says; a login shell, as ssh gives. */
	strv_push(argv, "/bin/sh");
	strv_push(argv, "-c");
	strv_push(argv, "exec \"${SHELL:-/bin/sh}\" -l");
}

static int cmd_shell_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_strv struct strv command, env;
	const struct exec_request req = {
		.argv = &command, .env = &env, .tty = exec_wants_tty(false, false)};

	strv_init(&command);
	strv_init(&env);
	exec_shell_argv(&command);
	return exec_in(cli, argv[0], &req);
}

const struct command cmd_shell = {
	.name = "shell",
	.operands = "NAME",
	.summary = "open a shell in a running sandbox",
	.details = "The shell of the sandbox's own user, in the workspace, on a terminal of the\n"
		   "sandbox when this is a terminal.",
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH,
	.min_operands = 1,
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_shell_run,
};
