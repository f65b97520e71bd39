#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/terminal/attach.h"
#include "cli/exec.h"
#include "record/connect.h"
#include "record/name.h"

struct exec_args {
	struct strv env;
	const char *dir, *user;
	bool interactive, tty, no_tty;
	uint64_t timeout_ms;
};

#define AT(member) offsetof(struct exec_args, member)

/* clang-format off */
static const struct opt exec_opts[] = {
	{"env", 'e', OPT_STRV, AT(env), "NAME=VALUE", "set a variable for this command"},
	{"workdir", 'w', OPT_STR, AT(dir), "DIR", "start there instead of in the workspace"},
	{"interactive", 'i', OPT_BOOL, AT(interactive), NULL, "pass stdin on (it always is)"},
	{"tty", 't', OPT_BOOL, AT(tty), NULL, "give the command a terminal of the sandbox"},
	{"no-tty", 'T', OPT_BOOL, AT(no_tty), NULL, "no terminal, even when this is one"},
	{"user", 'u', OPT_STR, AT(user), "USER", "must be the sandbox's own user: it has no other"},
	{"timeout", 0, OPT_DURATION, AT(timeout_ms), "TIME", "end the command after this time"},
};
/* clang-format on */

static int check_dir(struct cli *cli, const char *dir)
{
	if (dir && dir[0] != '/')
		return err_usage(&cli->err, "--workdir '%s' is not an absolute path", dir);
	return 0;
}

int exec_in(struct cli *cli, const char *name, const struct exec_request *req)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_fd int conn = -1;
	const struct attach a = {
		.argv = req->argv,
		.env = req->env,
		.inherit = true,
		.user = req->user,
		.cwd = req->dir ? req->dir : "",
		.tty = req->tty,
		.timeout_ms = req->timeout_ms,
	};
	int code = 0, r = places_find(&p, &cli->err);

	if (r == 0)
		r = req->env->n ? exec_check_env(cli, &p, name, req->env) : 0;
	if (r == 0)
		r = check_dir(cli, req->dir);
	if (r == 0)
		r = live_connect(&p, name, &conn, &cli->err);
	if (r == 0 && conn < 0)
		r = err_set(
			&cli->err, ESRCH,
			"sandbox '%s' is not running; start it in its workspace with: ralph run -d "
			"-n %s",
			name, name);
	if (r == 0)
		r = attach_run(conn, &a, &code, &cli->err);
	return r < 0 ? r : code;
}

bool exec_wants_tty(bool tty, bool no_tty)
{
	return tty ||
	       (!no_tty && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO));
}

static bool is_sandbox(const struct places *p, const char *name)
{
	cleanup_free char *dir = xasprintf("%s/sandboxes/%s", p->state, name);
	struct stat st;

	return name_valid(name) && stat(dir, &st) == 0;
}

/* Finds the sandbox of a command line. *ret_words: how many of its words name the sandbox. A first
 * word that names none is a command for this project's sandbox; *ret then has its name. */
static int find_sandbox(struct cli *cli, const char *word, int *ret_words, char **ret)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	*ret = NULL;
	*ret_words = 1;
	if (r < 0 || is_sandbox(&p, word))
		return r;
	r = exec_here(cli, &p, ret);
	if (r < 0) {
		r = err_wrap(&cli->err, r, "there is no sandbox '%s'", word);
		/* A name that could be a sandbox's is no mistake of the command line. */
		if (name_valid(word))
			cli->err.exit_code = 0;
		return r;
	}
	log_info("exec", "running %s in this project's sandbox %s", word, *ret);
	*ret_words = 0;
	return 0;
}

static int cmd_exec_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct exec_args *args = args_;
	cleanup_free char *here = NULL;
	int r, words;
	cleanup_strv struct strv command;
	struct exec_request req = {
		.argv = &command,
		.env = &args->env,
		.dir = args->dir,
		.user = args->user,
		.timeout_ms = args->timeout_ms,
	};

	strv_init(&command);
	if (args->tty && args->no_tty)
		return cli_usage(cli, "--tty and --no-tty exclude each other");
	r = find_sandbox(cli, argv[0], &words, &here);
	if (r < 0)
		return r;
	if (words == argc)
		return cli_usage(cli, "no command: put one after '%s'", argv[0]);
	for (int i = words; i < argc; i++)
		strv_push(&command, argv[i]);
	req.tty = exec_wants_tty(args->tty, args->no_tty);
	return exec_in(cli, here ? here : argv[0], &req);
}

const struct command cmd_exec = {
	.name = "exec",
	.operands = "[NAME] CMD [ARG…]",
	.summary = "run a command in a running sandbox",
	.details = "What follows NAME belongs to the command. If no sandbox has that name, it is\n"
		   "the command, and runs in this project's sandbox. The exit code is CMD's own,\n"
		   "as with 'ralph run'. 'ralph run -d -n NAME' in its workspace starts a sandbox\n"
		   "that does not run.",
	.group = GROUP_RUN,
	.flags = CMD_PASSTHROUGH | CMD_POSIX,
	OPTIONS(exec_opts, struct exec_args),
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_exec_run,
};
