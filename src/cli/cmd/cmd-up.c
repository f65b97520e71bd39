#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "cli/terminal/attach.h"
#include "cli/show/audit.h"
#include "cli/exec.h"
#include "cli/start-checks.h"
#include "cli/settings.h"
#include "live/live.h"
#include "check/selftest.h"

struct up_args {
	const char *name;
	bool detach;
};

#define AT(member) offsetof(struct up_args, member)

/* clang-format off */
static const struct opt up_opts[] = {
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	{"detach", 'd', OPT_BOOL, AT(detach), NULL, "only start it, and leave it running"},
	SETTINGS_OPTS,
};
/* clang-format on */

/* In a shell one can log in: a missing credential is only said. */
static bool may_go_on(const struct preflight *p, bool shell)
{
	for (size_t i = 0; i < p->n; i++)
		if (!p->rows[i].ok && !(shell && p->rows[i].credential))
			return false;
	return true;
}

static int check(struct cli *cli, const struct settings *s, const struct sandbox_spec *spec,
		 bool shell)
{
	cleanup_(preflight_done) struct preflight p = {0};

	preflight_of(s, spec, false, &p);
	if (!p.ok)
		preflight_print(cli, &p, stderr, true);
	if (may_go_on(&p, shell))
		return 0;
	return err_set(&cli->err, EIO, "sandbox '%s' is not fit for use; see: ralph preflight",
		       spec->name);
}

static int open_shell(struct cli *cli, const struct settings *s, const struct build *b, int conn,
		      uint32_t consent)
{
	cleanup_strv struct strv command = {0}, env = {0};
	const struct attach a = {
		.argv = &command,
		.env = &env,
		.inherit = true,
		.cwd = b->cwd,
		.tty = exec_wants_tty(false, false),
		.timeout_ms = s->config->limits.timeout_ms,
		.consent = consent,
		.allowed = settings_terminal(s->config),
	};
	int code = 0, r;

	exec_shell_argv(&command);
	r = attach_run(conn, &a, &code, &cli->err);
	return r < 0 ? r : code;
}

static int cmd_up_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct up_args *args = args_;
	const struct settings_target target = {
		.path = argc > 0 ? argv[0] : NULL,
		.name = args->name,
		.every_agent = true,
		.stays = true,
		.starts = true,
	};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	const struct strv none = {0};
	cleanup_fd int conn = -1;
	uint32_t consent = 0;
	bool tty;
	int r = settings_build(cli, &target, &s, &b);

	if (r < 0)
		return r;
	if (cli->dry_run) {
		r = build_print_plan(b.spec, stdout, &cli->err);
		if (r == 0 && streq(b.spec->engine, "native"))
			r = audit_print_rest(b.spec, &none, stdout, &cli->err);
		return r;
	}
	if (b.notice)
		log_warn("up", "%s", b.notice);
	tty = !args->detach && exec_wants_tty(false, false);
	r = audit_before_start(cli, &s, b.spec, tty, &consent);
	if (r == 0)
		r = live_start_up(&s.places, b.spec, settings_join(s.config), &conn, &cli->err);
	if (r == 0)
		audit_agreed(&s.places, b.spec, tty, consent);
	/* Nothing is left running of what does not pass: it is kept only afterwards. */
	if (r == 0)
		r = selftest_first_use(&s.places, b.spec, SELFTEST_OF_SANDBOX, conn, &cli->err);
	if (r == 0)
		r = check(cli, &s, b.spec, !args->detach);
	if (r < 0)
		return r;
	if (!args->detach)
		return open_shell(cli, &s, &b, conn, consent);
	r = live_keep(conn, b.spec->name, consent, &cli->err);
	if (r == 0)
		(void)printf("%s\n", b.spec->name);
	return r;
}

const struct command cmd_up = {
	.name = "up",
	.operands = "[PATH]",
	.summary = "start the workspace's sandbox and open a shell in it",
	.details = "Makes the sandbox of the workspace PATH (the current directory) when there is\n"
		   "none, starts it, tests it ('ralph selftest'), checks what a run needs\n"
		   "('ralph preflight'), and opens a shell in it, where agents work as on the\n"
		   "host: it has the logins of every agent found, as placeholders, or of one\n"
		   "with --agent. The sandbox stops when its last command has ended. With\n"
		   "--detach it is only started, and stays; its name is printed.",
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(up_opts, struct up_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_up_run,
};
