#include "cli/frame/command.h"
#include "cli/commands.h"

#include "base/log.h"
#include "cli/settings.h"
#include "compose/resource-limits.h"
#include "engine/engine.h"

static void say(const char *text)
{
	log_info("engine", "%s", text);
}

static int cmd_engine_setup_run(struct cli *cli, void *args_, int argc, char **argv)
{
	cleanup_(settings_done) struct settings s = {0};
	uint64_t limit = 0;
	int r;

	(void)args_;
	(void)argc;
	r = settings_load(cli, NULL, &s);
	if (r == 0 && !(limit = s.config->limits.memory))
		r = limits_memory_share(&limit, &cli->err);
	return r < 0 ? r : engine_prepare(argv[0], limit, say, &cli->err);
}

const struct command cmd_engine_setup = {
	.name = "setup",
	.operands = "ENGINE",
	.summary = "prepare an engine that needs it",
	.details =
		"vm: fetches the distribution's kernel with the distribution's own client, as a\n"
		"plain user, starts a machine with it once, and keeps that in the user's cache\n"
		"($XDG_CACHE_HOME/ralph/vm). vm:emulated: the same for a machine without KVM.\n"
		"Repeat it after an update of ralph or QEMU.",
	.flags = CMD_CONFIG,
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_engine_setup_run,
};
