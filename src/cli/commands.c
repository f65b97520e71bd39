#include "cli/commands.h"

#include <stddef.h>

#include "cli/command.h"

const struct command *const commands[] = {
	&cmd_completion,
	&cmd_help,
	&cmd_version,
	NULL,
};
