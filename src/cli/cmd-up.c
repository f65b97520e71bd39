#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/log.h"
#include "cli/attach.h"
#include "cli/audit.h"
#include "cli/exec.h"
#include "cli/settings.h"
#include "sandbox/live.h"
#include "sandbox/selftest.h"

struct up_args {
	const char *name;
	bool detach;
};

#define AT(member) offsetof(struct up_args, member)

/* clang-format off */
static const struct opt up_opts[] = {
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	{"detach", 'd', OPT_BOOL, AT(detach), NULL, "only start it, and print its name"},
	SETTINGS_OPTS,
};
/* clang-format on */

/* One that does not pass its self-test is not used: it is ended. */
static int start(struct cli *cli, const struct settings *s, const struct sandbox_spec *spec,
		 enum live_flags flags, int *ret_conn)
{
	cleanup_fd int conn = -1;
	struct err ignored = {0};
	int r = live_start_up(&s->places, spec, flags, &conn, &cli->err);

	if (r == 0)
		r = selftest_ensure(&s->places, spec, SELFTEST_OF_SANDBOX, &cli->err);
	if (r == -EPERM)
		(void)live_stop(&s->places, spec->name, 0, &ignored);
	if (r == 0)
		*ret_conn = take_fd(conn);
	return r;
}

/* The shell of the sandbox's own user, as 'ralph shell' has it. */
static int run_shell(struct cli *cli, const struct settings *s, const struct build *b, int conn,
		     bool tty, uint32_t consent)
{
	cleanup_strv struct strv argv = {0}, env = {0};
	const struct attach a = {
		.argv = &argv,
		.env = &env,
		.cwd = b->cwd,
		.tty = tty,
		.timeout_ms = s->config->limits.timeout_ms,
		.consent = consent,
	};
	int code = 0, r;

	exec_shell_argv(&argv);
	spec_environ(b->spec, &env);
	r = attach_run(conn, &a, &code, &cli->err);
	return r < 0 ? r : code;
}

static int cmd_up_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct up_args *args = args_;
	const struct settings_target target = {
		.path = argc ? argv[0] : NULL,
		.name = args->name,
	};
	bool tty = !args->detach && exec_wants_tty(false, false);
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_fd int conn = -1;
	uint32_t consent = 0;
	int r = settings_build(cli, &target, &s, &b);

	if (r < 0)
		return r;
	if (cli->dry_run)
		return build_print_plan(b.spec, stdout, &cli->err);
	if (b.notice)
		log_warn("up", "%s", b.notice);
	r = audit_before_start(cli, b.spec, tty, &consent);
	if (r == 0)
		r = start(cli, &s, b.spec, (args->detach ? LIVE_KEEP : 0) | consent, &conn);
	if (r < 0)
		return r;
	if (!args->detach)
		return run_shell(cli, &s, &b, conn, tty, consent);
	(void)puts(b.spec->name);
	return 0;
}

const struct command cmd_up = {
	.name = "up",
	.operands = "[PATH]",
	.summary = "start the workspace's sandbox and open a shell in it",
	.details =
		"A sandbox that is new is tested first, as 'ralph selftest' does; one that does\n"
		"not pass is not used. When the shell has ended, the sandbox stops, unless\n"
		"something else runs in it; with --detach it stays up until 'ralph stop'.",
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(up_opts, struct up_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_up_run,
};
