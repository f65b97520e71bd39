#include "cli/commands.h"

#include <stddef.h>

#include "cli/frame/command.h"

/* The table has one command per line, so that adding one changes no other line. */
/* clang-format off */
const struct command *const commands[] = {
	&cmd_run,
	&cmd_up,
	&cmd_audit,
	&cmd_init,
	&cmd_build,
	&cmd_plan,
	&cmd_loop,
	&cmd_resume,
	&cmd_task,
	&cmd_pause,
	&cmd_logs,
	&cmd_answer,
	&cmd_exec,
	&cmd_shell,
	&cmd_ls,
	&cmd_inspect,
	&cmd_stop,
	&cmd_rm,
	&cmd_cp,
	&cmd_ports,
	&cmd_prune,
	&cmd_gc,
	&cmd_preflight,
	&cmd_selftest,
	&cmd_net,
	&cmd_diff,
	&cmd_apply,
	&cmd_adopt,
	&cmd_quarantine,
	&cmd_image,
	&cmd_usage,
	&cmd_events,
	&cmd_why,
	&cmd_status,
	&cmd_top,
	&cmd_export,
	&cmd_config,
	&cmd_profile,
	&cmd_trust,
	&cmd_check_token,
	&cmd_store_token,
	&cmd_logout,
	&cmd_doctor,
	&cmd_hook,
	&cmd_completion,
	&cmd_help,
	&cmd_version,
	NULL,
};
/* clang-format on */
