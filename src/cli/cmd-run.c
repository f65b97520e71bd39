#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "cli/attach.h"
#include "cli/exec.h"
#include "cli/settings.h"
#include "sandbox/live.h"
#include "sandbox/selftest.h"

extern char **environ;

#define RUN_TRIES 5 /* a sandbox that ends while we connect is started again */

struct run_args {
	const char *name;
	bool rm, detach, tty, no_tty;
};

#define AT(member) offsetof(struct run_args, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	{"rm", 0, OPT_BOOL, AT(rm), NULL, "remove the sandbox with its home when it stops"},
	{"detach", 'd', OPT_BOOL, AT(detach), NULL, "leave the sandbox running when its commands have ended"},
	{"tty", 't', OPT_BOOL, AT(tty), NULL, "give the command a terminal of the sandbox"},
	{"no-tty", 'T', OPT_BOOL, AT(no_tty), NULL, "no terminal, even when this is one"},
	{"env", 'e', OPT_STRV, 0, "NAME=VALUE", "set a variable inside", .key = "env.set"},
	{"pass", 0, OPT_STRV, 0, "NAME", "take a variable from the host", .key = "env.pass"},
	{"allow", 0, OPT_STRV, 0, "HOST", "let the sandbox reach this host", .key = "network.allow"},
	{"deny", 0, OPT_STRV, 0, "HOST", "never let it reach this host", .key = "network.deny"},
	{"net", 0, OPT_STR, 0, "TIER", "how much network there is: none, allowlist, inet or full", .key = "network.tier"},
	{"memory", 0, OPT_SIZE, 0, "SIZE", "memory limit", .key = "limits.memory"},
	{"pids", 0, OPT_UINT, 0, "N", "limit of processes and threads", .key = "limits.pids"},
	{"cpu", 0, OPT_UINT, 0, "PERCENT", "processor limit, in percent of one core", .key = "limits.cpu"},
	{"timeout", 0, OPT_DURATION, 0, "TIME", "end the command after this time", .key = "limits.timeout"},
};
/* clang-format on */

static int run_once(struct cli *cli, const struct run_args *args, struct settings *s,
		    const struct build *b, const struct strv *argv, int *ret_code)
{
	enum live_flags flags = (args->detach ? LIVE_KEEP : 0) | (args->rm ? LIVE_REMOVE : 0);
	cleanup_fd int conn = -1;
	cleanup_strv struct strv env;
	struct attach a = {
		.argv = argv,
		.env = &env,
		.cwd = b->cwd,
		.tty = exec_wants_tty(args->tty, args->no_tty),
		.timeout_ms = s->config->limits.timeout_ms,
	};
	int r = live_start(&s->places, b->spec, flags, &conn, &cli->err);

	strv_init(&env);
	if (r < 0)
		return r;
	/* What is thrown away at once is not created: its walls are those of the machine. */
	if (!args->rm)
		r = selftest_first_use(&s->places, b->spec, SELFTEST_OF_MACHINE, conn, &cli->err);
	if (r < 0)
		return r;
	if (argv->n == 0)
		return live_wait_up(conn, b->spec->name, &cli->err);
	spec_environ(b->spec, &env);
	return attach_run(conn, &a, ret_code, &cli->err);
}

static int check_operands(struct cli *cli, const struct run_args *args, int argc, int n_path)
{
	if (args->rm && args->detach)
		return cli_usage(cli, "--rm and --detach exclude each other");
	if (args->tty && args->no_tty)
		return cli_usage(cli, "--tty and --no-tty exclude each other");
	if (n_path > 1)
		return cli_usage(cli, "one PATH at most before '--'; the command comes behind it");
	if (argc == n_path && !args->detach && !cli->dry_run)
		return cli_usage(cli, "no command: put one behind '--', or use --detach");
	return 0;
}

static int cmd_run_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct run_args *args = args_;
	int n_path = cli->dashdash >= 0 ? cli->dashdash : argc, code = 0, r;
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv command;
	struct build_input in = {.name = args->name, .environ = environ, .config = NULL};

	strv_init(&command);
	r = check_operands(cli, args, argc, n_path);
	if (r < 0)
		return r;
	in.path = n_path ? argv[0] : NULL;
	r = settings_load(cli, in.path, &s);
	if (r < 0)
		return r;
	in.places = &s.places;
	in.config = s.config;
	in.argv0 = argc > n_path ? argv[n_path] : NULL;
	r = build_spec(&in, &b, &cli->err);
	if (r < 0)
		return r;
	if (cli->dry_run)
		return build_print_plan(b.spec, stdout, &cli->err);
	if (b.notice)
		log_warn("run", "%s", b.notice);
	for (int i = n_path; i < argc; i++)
		strv_push(&command, i == n_path && b.argv0 ? b.argv0 : argv[i]);
	r = -EAGAIN;
	for (int i = 0; r == -EAGAIN && i < RUN_TRIES; i++)
		r = run_once(cli, args, &s, &b, &command, &code);
	return r < 0 ? r : code;
}

static const char run_details[] =
	"Runs CMD in the sandbox of the workspace PATH (the current directory), which\n"
	"is made when there is none. The exit code is CMD's own; 128+n when signal n\n"
	"ended it; 125 when ralph itself failed. When the last command has ended, the\n"
	"sandbox stops, unless --detach was given; its home stays for the next time,\n"
	"unless --rm was.";

const struct command cmd_run = {
	.name = "run",
	.operands = "[PATH] -- CMD [ARG…]",
	.summary = "run a command in the workspace's sandbox",
	.details = run_details,
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(run_opts, struct run_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_DIR,
	.run = cmd_run_run,
};
