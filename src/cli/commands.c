#include "cli/commands.h"

#include <stddef.h>

#include "cli/command.h"

const struct command *const commands[] = {
	&cmd_run,    &cmd_exec,	      &cmd_shell, &cmd_ls,	   &cmd_inspect,
	&cmd_stop,   &cmd_rm,	      &cmd_net,	  &cmd_quarantine, &cmd_config,
	&cmd_doctor, &cmd_completion, &cmd_help,  &cmd_version,	   NULL,
};
