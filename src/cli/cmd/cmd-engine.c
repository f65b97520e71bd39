#include "cli/frame/command.h"
#include "cli/commands.h"

static const struct command *const engine_subs[] = {
	&cmd_engine_setup,
	NULL,
};

const struct command cmd_engine = {
	.name = "engine",
	.summary = "what sandboxes are made with",
	.group = GROUP_CONFIG,
	.subs = engine_subs,
};
