#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/show/quarantine-ask.h"
#include "base/text/quote-word.h"
#include "base/text/term.h"
#include "cli/terminal/attach.h"
#include "cli/terminal/relay.h"
#include "workspace/quarantine.h"
#include "cli/show/audit.h"
#include "cli/exec.h"
#include "cli/run-operands.h"
#include "cli/same-workspace.h"
#include "cli/settings.h"
#include "compose/no-sandbox.h"
#include "live/live.h"
#include "check/selftest.h"
#include "view/refused-line.h"

extern char **environ;

#define UUID_LEN 36
#define RUN_TRIES 5 /* a sandbox that ends while we connect is started again */

struct run_args {
	const char *name, *dir;
	bool rm, detach, clone, tty, no_tty;
};

#define AT(member) offsetof(struct run_args, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{"workspace", 'C', OPT_STR, AT(dir), "PATH", "the workspace, instead of the current directory",
	 .complete = COMPLETE_DIR},
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	{"rm", 0, OPT_BOOL, AT(rm), NULL, "use a throw-away home, and remove the sandbox when it stops"},
	{"detach", 'd', OPT_BOOL, AT(detach), NULL, "leave the sandbox running when its commands have ended"},
	{"clone", 0, OPT_BOOL, AT(clone), NULL, "work in a clone of the repository, which stays as it is"},
	{"tty", 't', OPT_BOOL, AT(tty), NULL, "give the command a terminal of the sandbox"},
	{"no-tty", 'T', OPT_BOOL, AT(no_tty), NULL, "no terminal, even when this is one"},
	SETTINGS_OPTS,
};
/* clang-format on */

/* Loading the supervisor and making the spec take about as long: both at once. */
static void start_prestart(void *arg, const struct places *p, const struct sandbox_spec *so_far)
{
	live_prestart(arg, p, so_far->name);
}

/* Without a sandbox the user's environment is the command's, and in no record. */
static void make_environ(const struct cli *cli, const struct build *b, struct strv *ret)
{
	if (!cli->no_sandbox) {
		spec_environ(b->spec, ret);
		return;
	}
	for (char **e = environ; *e; e++)
		strv_push(ret, *e);
}

/* The log, which says why, goes with a sandbox that is removed. */
static void tell_refused(const char *name, bool removed, const struct strv *hosts, bool others)
{
	cleanup_free char *line = refused_line(hosts, others);

	if (line && removed)
		log_warn("net", "%s", line);
	else if (line)
		log_warn("net", "%s; see: ralph net log --denied %s", line, name);
}

/* What a run leaves to say. */
struct left {
	struct strv warnings;
	struct buf tail;
};

static void left_done(struct left *l)
{
	strv_done(&l->warnings);
	buf_done(&l->tail);
}

static int run_once(struct cli *cli, const struct run_args *args, struct settings *s,
		    const struct build *b, const struct strv *argv, uint32_t consent,
		    int *prestarted, struct left *left, int *ret_code)
{
	enum live_flags flags = (args->detach ? LIVE_KEEP : 0) | (args->rm ? LIVE_REMOVE : 0) |
				consent | settings_join(s->config);
	cleanup_fd int conn = -1;
	cleanup_strv struct strv env, hosts = {0};
	bool others = false;
	struct attach a = {
		.argv = argv,
		.env = &env,
		.cwd = b->cwd,
		.tty = exec_wants_tty(args->tty, args->no_tty),
		/* Agents wait for a pipe's content, but not for a terminal's. */
		.no_typing = s->agent && !args->no_tty,
		.allowed = settings_terminal(s->config),
		.refused = &hosts,
		.refused_others = &others,
		.warnings = left ? &left->warnings : NULL,
		.tail = left ? &left->tail : NULL,
		.timeout_ms = s->config->limits.timeout_ms,
		.consent = consent,
	};
	int r = live_start(&s->places, b->spec, flags, prestarted, &conn, &cli->err);

	strv_init(&env);
	if (r < 0)
		return r;
	audit_agreed(&s->places, b->spec, a.tty, consent);
	/* A sandbox with --rm is not kept, so its first use is not tested. */
	if (!args->rm)
		r = selftest_first_use(&s->places, b->spec,
				       s->agent ? SELFTEST_OF_SANDBOX : SELFTEST_OF_MACHINE, conn,
				       &cli->err);
	if (r < 0)
		return r;
	if (argv->n == 0)
		return live_wait_up(conn, b->spec->name, &cli->err);
	make_environ(cli, b, &env);
	r = attach_run(conn, &a, ret_code, &cli->err);
	if (r == 0)
		tell_refused(b->spec->name, args->rm, &hosts, others);
	return r;
}

static int run_again(struct cli *cli, const struct run_args *args, struct settings *s,
		     const struct build *b, const struct strv *argv, uint32_t consent,
		     int *prestarted, struct left *left, int *ret_code)
{
	int r = -EAGAIN;

	for (int i = 0; r == -EAGAIN && i < RUN_TRIES; i++)
		r = run_once(cli, args, s, b, argv, consent, prestarted, left, ret_code);
	return r;
}

/* git makes the clone itself, inside: the user's repository is only read, and there. */
static int make_clone(struct cli *cli, struct settings *s, const struct build *b, uint32_t consent,
		      int *prestarted)
{
	const struct run_args args = {.no_tty = true};
	cleanup_strv struct strv command;
	int code = 0, r;

	strv_init(&command);
	build_clone_command(b->spec, &command);
	r = run_again(cli, &args, s, b, &command, consent, prestarted, NULL, &code);
	if (r == 0 && code != 0)
		r = err_set(&cli->err, EIO, "the clone of '%s' could not be made",
			    b->spec->workspace);
	return r;
}

static int check_options(struct cli *cli, const struct run_args *args)
{
	if (args->rm && args->detach)
		return cli_usage(cli, "--rm and --detach exclude each other");
	if (args->rm && args->clone)
		return cli_usage(cli,
				 "--rm and --clone exclude each other: the work would be lost");
	if (args->tty && args->no_tty)
		return cli_usage(cli, "--tty and --no-tty exclude each other");
	return 0;
}

/* rest: the operands behind "--". */
static int make_command(struct cli *cli, const struct settings *s, const struct build *b, int argc,
			char **rest, struct strv *ret)
{
	cleanup_strv struct strv own = {0};
	int first = 0, r = 0;

	if (b->argv0)
		strv_push(ret, b->argv0);
	for (size_t i = 0; s->agent && s->agent->interactive[i]; i++)
		strv_push(ret, s->agent->interactive[i]);
	if (!s->agent)
		first = b->argv0 != NULL;
	for (int i = first; i < argc; i++)
		strv_push(&own, rest[i]);
	if (cli->no_sandbox)
		r = no_sandbox_wire(&s->places, s->agent, b->spec->workspace, &own, ret, &cli->err);
	strv_extend(ret, &own);
	return r;
}

static int print_plan(struct cli *cli, const struct sandbox_spec *spec, const struct strv *command)
{
	int r = build_print_plan(spec, stdout, &cli->err);

	if (r == 0 && streq(spec->engine, "native"))
		r = audit_print_rest(spec, command, stdout, &cli->err);
	return r;
}

/* The warning is shown at each start, whatever else is shown. */
static void warn_direct(const struct cli *cli)
{
	(void)fputs("ralph: ", stderr);
	term_styled(stderr, cli_color(cli, STDERR_FILENO), STYLE_RED, direct_warning);
	(void)fputc('\n', stderr);
}

/* bare: the user names nothing to run; with no agent in the settings either, one is offered. */
static int build_asked(struct cli *cli, const struct run_args *args, bool bare,
		       struct settings_target *t, struct settings *s, struct build *b)
{
	int r = settings_build(cli, t, s, b);

	if (r < 0 || !bare || t->agent || s->agent || args->detach || cli->dry_run)
		return r;
	r = run_offer_agents(cli, &t->agent);
	if (r < 0 || !t->agent)
		return r;
	build_done(b);
	settings_done(s);
	*s = (struct settings){0};
	return settings_build(cli, t, s, b);
}

static void print_warnings(const struct strv *warnings)
{
	for (size_t i = 0; i < warnings->n; i++)
		log_warn("workspace", "%s", warnings->v[i]);
}

static bool is_uuid(const char *p, size_t n)
{
	for (size_t i = 0; i < UUID_LEN; i++)
		if (i >= n || !p[i] || !strchr("0123456789abcdef-", p[i]))
			return false;
	return true;
}

/* Finds the last "--resume ID" in what Claude Code printed; ID is a UUID. */
static bool find_session(const struct buf *tail, char ret[UUID_LEN + 1])
{
	static const char word[] = "--resume ";
	const char *p = tail->data, *end = p + tail->len;
	bool found = false;

	while (tail->len && (p = memmem(p, (size_t)(end - p), word, sizeof(word) - 1))) {
		p += sizeof(word) - 1;
		if (!is_uuid(p, (size_t)(end - p)))
			continue;
		(void)snprintf(ret, UUID_LEN + 1, "%.*s", UUID_LEN, p);
		found = true;
	}
	return found;
}

/* Claude Code ends with a command that resumes its session, without a sandbox. The one that resumes
 * it in the sandbox follows. */
static void tell_resume(const struct run_args *args, const struct sandbox_spec *spec,
			const struct left *left)
{
	cleanup_free char *here = getcwd(NULL, 0);
	char id[UUID_LEN + 1];
	cleanup_buf struct buf b;

	buf_init(&b, 16 * KiB);
	if (!streq(spec->agent, "claude") || !find_session(&left->tail, id))
		return;
	(void)buf_puts(&b, "ralph run ");
	if (args->name) {
		(void)buf_puts(&b, "--name ");
		quote_word(&b, args->name);
		(void)buf_putc(&b, ' ');
	}
	if (!here || !streq(here, spec->workspace)) {
		(void)buf_puts(&b, "-C ");
		quote_word(&b, spec->workspace);
		(void)buf_putc(&b, ' ');
	}
	(void)fputs("resume in the sandbox with: ", stderr);
	term_line(stderr, "%sclaude --resume %s", buf_str(&b), id);
}

/* What follows the command's own output. */
static void finish(struct cli *cli, const struct run_args *args, const struct settings *s,
		   const struct sandbox_spec *spec, const struct strv *before,
		   const struct left *left)
{
	if (spec->quarantine == SPEC_QUARANTINE_ASK && !args->detach)
		quarantine_ask(cli, &s->places, spec->name, before, &left->warnings);
	else
		print_warnings(&left->warnings);
	if (s->agent && !args->rm)
		tell_resume(args, spec, left);
}

static int cmd_run_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct run_args *args = args_;
	cleanup_fd int prestarted = prestart_take();
	struct settings_target target = {.name = args->name,
					 .clone = args->clone,
					 .stays = args->detach,
					 .home_of = args->rm ? SPEC_HOME_ONCE : SPEC_HOME_PROJECT};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv command = {0}, before = {0};
	cleanup_(left_done) struct left left = {0};
	uint32_t consent = 0;
	int code = 0, rest, r = check_options(cli, args);

	buf_init(&left.tail, RELAY_TAIL * RUN_TRIES);
	if (r == 0)
		r = run_operands(cli, args->dir, argc, argv, &target, &rest);
	if (r < 0)
		return r;
	target.alone = target.alone && !args->detach;
	target.starts = true;
	/* The sandbox of a bare `ralph run` depends on an answer. */
	if (!cli->dry_run && argc > 0) {
		target.begun = start_prestart;
		target.arg = &prestarted;
	}
	r = build_asked(cli, args, argc == 0, &target, &s, &b);
	if (r < 0)
		return r;
	if (!cli->dry_run && !target.begun)
		live_prestart(&prestarted, &s.places, b.spec->name);
	if (cli->dry_run) {
		r = make_command(cli, &s, &b, argc - rest, argv + rest, &command);
		return r < 0 ? r : print_plan(cli, b.spec, &command);
	}
	if (!s.agent && argc == rest && !args->detach)
		return cli_usage(cli, "no command: put one after '--', or use --detach");
	if (b.notice)
		log_warn("run", "%s", b.notice);
	if (s.agent)
		same_workspace_tell(&s.places, b.spec);
	r = make_command(cli, &s, &b, argc - rest, argv + rest, &command);
	if (r < 0)
		return r;
	if (cli->no_sandbox)
		warn_direct(cli);
	r = audit_before_start(cli, &s, b.spec,
			       command.n && exec_wants_tty(args->tty, args->no_tty), &consent);
	if (r < 0)
		return r;
	if (b.spec->clone && !build_clone_is_made(b.spec))
		r = make_clone(cli, &s, &b, consent, &prestarted);
	if (b.spec->quarantine == SPEC_QUARANTINE_ASK)
		(void)quarantine_list(&s.places, SHELF_QUARANTINE, &before, &cli->err);
	if (r == 0)
		r = run_again(cli, args, &s, &b, &command, consent, &prestarted, &left, &code);
	finish(cli, args, &s, b.spec, &before, &left);
	return r < 0 ? r : code;
}

static const char run_details[] =
	"Runs CMD in the sandbox of the workspace PATH (the current directory), which\n"
	"is made when there is none. The exit code is CMD's own; 128+n when signal n\n"
	"ended it; 125 when ralph itself failed. When the last command has ended, the\n"
	"sandbox stops, unless --detach was given; the project's home stays, and is not\n"
	"used with --rm. Before a command gets a terminal, ralph shows what it will have\n"
	"and asks, if the sandbox is new or changed since you agreed; see 'ralph audit'.\n"
	"\n"
	"With the name of an agent instead, that agent is run, with the host's login\n"
	"and without its key. Options of ralph come before the agent, and everything\n"
	"after it is the agent's own: 'ralph run --net none claude -p hi'. A directory\n"
	"right after it is the workspace if nothing else or '--' follows; -C names one\n"
	"in any case. 'ralph claude' is short for 'ralph run claude'. With --agent, CMD\n"
	"runs in that agent's sandbox.\n"
	"\n"
	"With --engine sbx the sandbox is one of Docker Sandboxes. Where a credential is\n"
	"given to it as AWS's keys (way env), a login of AWS SSO bounds a command: it\n"
	"lasts 1 to 8 hours and is not renewed within one. Then 'aws sso login', and\n"
	"start it again. With --no-sandbox an agent runs without any sandbox; see\n"
	"ralph-run(1) before.";

const struct command cmd_run = {
	.name = "run",
	.operands = "AGENT [ARG…] | [PATH] [-- CMD [ARG…]]",
	.summary = "run an agent or a command in the workspace's sandbox",
	.details = run_details,
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN | CMD_DIRECT,
	OPTIONS(run_opts, struct run_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_DIR,
	.words = agent_words,
	.aliases = agent_programs,
	.ends = run_operand_ends,
	.run = cmd_run_run,
};
