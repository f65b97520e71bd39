#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "cli/exec.h"

void exec_shell_argv(struct strv *argv)
{
	/* Not a login shell: /etc/profile would replace the PATH that `ralph run` has. */
	strv_push(argv, "/bin/sh");
	strv_push(argv, "-c");
	strv_push(argv, "exec \"${SHELL:-/bin/sh}\"");
}

static int cmd_shell_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv command, env;
	cleanup_free char *here = NULL;
	const struct exec_request req = {
		.argv = &command, .env = &env, .tty = exec_wants_tty(false, false)};

	strv_init(&command);
	strv_init(&env);
	exec_shell_argv(&command);
	if (argc == 0) {
		int r = places_find(&p, &cli->err);

		if (r == 0)
			r = exec_here(cli, &p, &here);
		if (r < 0)
			return r;
	}
	return exec_in(cli, here ? here : argv[0], &req);
}

const struct command cmd_shell = {
	.name = "shell",
	.operands = "[NAME]",
	.summary = "open a shell in a running sandbox",
	.details = "The shell of the sandbox's own user, in the workspace, on a terminal of the\n"
		   "sandbox when this is a terminal. Without NAME it is this project's sandbox.",
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH,
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_shell_run,
};
