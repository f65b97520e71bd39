#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/attach.h"
#include "cli/audit.h"
#include "cli/exec.h"
#include "cli/settings.h"
#include "sandbox/live.h"

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
	SETTINGS_OPTS,
};
/* clang-format on */

static int run_once(struct cli *cli, const struct run_args *args, struct settings *s,
		    const struct build *b, const struct strv *argv, uint32_t consent, int *ret_code)
{
	enum live_flags flags =
		(args->detach ? LIVE_KEEP : 0) | (args->rm ? LIVE_REMOVE : 0) | consent;
	cleanup_fd int conn = -1;
	cleanup_strv struct strv env;
	struct attach a = {
		.argv = argv,
		.env = &env,
		.cwd = b->cwd,
		.tty = exec_wants_tty(args->tty, args->no_tty),
		.timeout_ms = s->config->limits.timeout_ms,
		.consent = consent,
	};
	int r = live_start(&s->places, b->spec, flags, &conn, &cli->err);

	strv_init(&env);
	if (r < 0)
		return r;
	if (argv->n == 0)
		return live_wait_up(conn, b->spec->name, &cli->err);
	spec_environ(b->spec, &env);
	return attach_run(conn, &a, ret_code, &cli->err);
}

static int check_options(struct cli *cli, const struct run_args *args)
{
	if (args->rm && args->detach)
		return cli_usage(cli, "--rm and --detach exclude each other");
	if (args->tty && args->no_tty)
		return cli_usage(cli, "--tty and --no-tty exclude each other");
	return 0;
}

/* rest: the operands behind "--". */
static void make_command(const struct settings *s, const struct build *b, int argc, char **rest,
			 struct strv *ret)
{
	int first = 0;

	if (b->argv0)
		strv_push(ret, b->argv0);
	for (size_t i = 0; s->agent && s->agent->interactive[i]; i++)
		strv_push(ret, s->agent->interactive[i]);
	if (!s->agent)
		first = b->argv0 != NULL;
	for (int i = first; i < argc; i++)
		strv_push(ret, rest[i]);
}

static int cmd_run_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct run_args *args = args_;
	struct settings_target target = {.name = args->name};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv command = {0};
	uint32_t consent = 0;
	int code = 0, rest, r = check_options(cli, args);

	if (r == 0)
		r = settings_operands(cli, argc, argv, &target, &rest);
	if (r < 0)
		return r;
	target.alone = target.alone && !args->detach;
	r = settings_build(cli, &target, &s, &b);
	if (r < 0)
		return r;
	if (cli->dry_run)
		return build_print_plan(b.spec, stdout, &cli->err);
	if (!s.agent && argc == rest && !args->detach)
		return cli_usage(cli, "no command: put one behind '--', or use --detach");
	if (b.notice)
		log_warn("run", "%s", b.notice);
	make_command(&s, &b, argc - rest, argv + rest, &command);
	r = audit_before_start(cli, b.spec, command.n && exec_wants_tty(args->tty, args->no_tty),
			       &consent);
	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int i = 0; r == -EAGAIN && i < RUN_TRIES; i++)
		r = run_once(cli, args, &s, &b, &command, consent, &code);
	return r < 0 ? r : code;
}

static const char run_details[] =
	"Runs CMD in the sandbox of the workspace PATH (the current directory), which\n"
	"is made when there is none. The exit code is CMD's own; 128+n when signal n\n"
	"ended it; 125 when ralph itself failed. When the last command has ended, the\n"
	"sandbox stops, unless --detach was given; its home stays for the next time,\n"
	"unless --rm was. A command that gets a terminal is run only after you have\n"
	"seen what it will have and said yes; see 'ralph audit'.\n"
	"\n"
	"With the name of an agent instead, that agent is run, with the host's login and\n"
	"without its key: 'ralph run claude', 'ralph run codex . -- --help'. 'ralph claude'\n"
	"is the same; with --agent, CMD runs in that agent's sandbox.";

static const char *const agent_aliases[] = {"claude",	"codex",   "gemini",
					    "opencode", "copilot", NULL};

const struct command cmd_run = {
	.name = "run",
	.operands = "[AGENT] [PATH] [-- CMD [ARG…]]",
	.summary = "run an agent or a command in the workspace's sandbox",
	.details = run_details,
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(run_opts, struct run_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_DIR,
	.words = agent_words,
	.aliases = agent_aliases,
	.run = cmd_run_run,
};
