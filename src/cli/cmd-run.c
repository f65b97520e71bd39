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
<<<<<<< HEAD
	{"agent", 0, OPT_CHOICE, 0, "NAME", "whose sandbox it is: its credentials, state and hosts",
	 .key = "agent", .choices = agent_words},
	{"env", 'e', OPT_STRV, 0, "NAME=VALUE", "set a variable inside", .key = "env.set"},
	{"pass", 0, OPT_STRV, 0, "NAME", "take a variable from the host", .key = "env.pass"},
	{"allow", 0, OPT_STRV, 0, "HOST", "let the sandbox reach this host", .key = "network.allow"},
	{"deny", 0, OPT_STRV, 0, "HOST", "never let it reach this host", .key = "network.deny"},
	{"net", 0, OPT_STR, 0, "TIER", "how much network there is: none, allowlist, inet or full", .key = "network.tier"},
	{"memory", 0, OPT_SIZE, 0, "SIZE", "memory limit", .key = "limits.memory"},
	{"pids", 0, OPT_UINT, 0, "N", "limit of processes and threads", .key = "limits.pids"},
	{"cpu", 0, OPT_UINT, 0, "PERCENT", "processor limit, in percent of one core", .key = "limits.cpu"},
	{"timeout", 0, OPT_DURATION, 0, "TIME", "end the command after this time", .key = "limits.timeout"},
=======
	SETTINGS_OPTS,
>>>>>>> cred
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

/* What the operands say. */
struct request {
	const struct agent *agent; /* named instead of a command; NULL: none was */
	const char *path;	   /* NULL: the current directory */
	char **rest;		   /* the command, or the agent's own arguments */
	int n_rest;
	bool has_rest; /* there was a "--" */
};

/* The agent is the command's own word (`ralph claude`) or the first operand (`ralph run claude`);
 * a directory of that name is written ./claude. */
static void read_operands(const struct cli *cli, int argc, char **argv, struct request *ret,
			  int *ret_paths)
{
	int before = cli->dashdash >= 0 ? cli->dashdash : argc, used = 0;

	*ret = (struct request){.agent = agent_find(cli->word), .has_rest = cli->dashdash >= 0};
	if (!ret->agent && before > 0) {
		ret->agent = agent_find(argv[0]);
		used = ret->agent != NULL;
	}
	*ret_paths = before - used;
	ret->path = before > used ? argv[used] : NULL;
	ret->rest = argv + before;
	ret->n_rest = argc - before;
}

static int check_operands(struct cli *cli, const struct run_args *args, const struct request *req,
			  int n_paths)
{
	const char *other = strv_env_get(&cli->config, "agent");

	if (args->rm && args->detach)
		return cli_usage(cli, "--rm and --detach exclude each other");
	if (args->tty && args->no_tty)
		return cli_usage(cli, "--tty and --no-tty exclude each other");
	if (n_paths > 1 && req->agent)
		return cli_usage(cli, "one PATH at most; arguments of %s come behind '--'",
				 req->agent->name);
	if (n_paths > 1)
		return cli_usage(cli, "one PATH at most before '--'; the command comes behind it");
	if (req->agent && other && !streq(other, req->agent->name))
		return cli_usage(cli, "%s and --agent %s exclude each other", req->agent->name,
				 other);
	return 0;
}

/*
 * Is it the agent that is run? The one that was named is; the one of the settings where there is no
 * command. With --agent, or `agent:` in a file, a command behind "--" runs in that agent's sandbox.
 */
static const struct agent *agent_to_run(const struct request *req, const struct config *c,
					const struct run_args *args)
{
	const struct agent *a = req->agent;

	if (!a && !req->has_rest && !args->detach)
		a = agent_find(c->agent);
	return a && a->program ? a : NULL;
}

static void make_command(const struct agent *a, const struct request *req, const struct build *b,
			 struct strv *ret)
{
	int first = 0;

	if (b->argv0)
		strv_push(ret, b->argv0);
	for (size_t i = 0; a && a->interactive[i]; i++)
		strv_push(ret, a->interactive[i]);
	if (!a)
		first = b->argv0 != NULL;
	for (int i = first; i < req->n_rest; i++)
		strv_push(ret, req->rest[i]);
}

static int load_settings(struct cli *cli, const struct request *req, struct settings *s)
{
	if (req->agent)
		strv_env_set(&cli->config, "agent", req->agent->name);
	return settings_load(cli, req->path, s);
}

static int cmd_run_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct run_args *args = args_;
<<<<<<< HEAD
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv command = {0};
	struct build_input in = {.name = args->name, .environ = environ, .config = NULL};
	const struct agent *agent;
	struct request req;
	int code = 0, n_paths, r;

	read_operands(cli, argc, argv, &req, &n_paths);
	r = check_operands(cli, args, &req, n_paths);
	if (r == 0)
		r = load_settings(cli, &req, &s);
	if (r < 0)
		return r;
	agent = agent_to_run(&req, s.config, args);
	if (!agent && req.n_rest == 0 && !args->detach && !cli->dry_run)
		return cli_usage(cli, "no command: put one behind '--', or use --detach");
	in.path = req.path;
	in.places = &s.places;
	in.config = s.config;
	in.run_agent = agent != NULL;
	in.argv0 = agent ? agent->program : req.n_rest ? req.rest[0] : NULL;
	r = build_spec(&in, &b, &cli->err);
=======
	int n_path = cli->dashdash >= 0 ? cli->dashdash : argc, code = 0, r;
	const struct settings_target target = {
		.path = n_path ? argv[0] : NULL,
		.name = args->name,
		.argv0 = argc > n_path ? argv[n_path] : NULL,
	};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv command;
	uint32_t consent = 0;

	strv_init(&command);
	r = check_operands(cli, args, argc, n_path);
	if (r == 0)
		r = settings_build(cli, &target, &s, &b);
>>>>>>> cred
	if (r < 0)
		return r;
	if (cli->dry_run)
		return build_print_plan(b.spec, stdout, &cli->err);
	if (b.notice)
		log_warn("run", "%s", b.notice);
<<<<<<< HEAD
	make_command(agent, &req, &b, &command);
=======
	for (int i = n_path; i < argc; i++)
		strv_push(&command, i == n_path && b.argv0 ? b.argv0 : argv[i]);
	r = audit_before_start(cli, b.spec, command.n && exec_wants_tty(args->tty, args->no_tty),
			       &consent);
	if (r < 0)
		return r;
>>>>>>> cred
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
<<<<<<< HEAD
	"unless --rm was.\n"
	"\n"
	"With the name of an agent instead, that agent is run, with the host's login and\n"
	"without its key: 'ralph run claude', 'ralph run codex . -- --help'. 'ralph claude'\n"
	"is the same; with --agent, CMD runs in that agent's sandbox.";

static const char *const agent_aliases[] = {"claude",	"codex",   "gemini",
					    "opencode", "copilot", NULL};
=======
	"unless --rm was. A command that gets a terminal is run only after you have\n"
	"seen what it will have and said yes; see 'ralph audit'.";
>>>>>>> cred

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
