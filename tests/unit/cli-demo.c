#include "cli-demo.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT(member) offsetof(struct demo_args, member)

/* Shared with the child that runs the command. */
static struct demo_seen *seen;

static void join(char *out, size_t size, char *const *v, size_t n)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "|" : "", v[i]);
}

static int demo_run(struct cli *cli, void *args, int argc, char **argv)
{
	const struct demo_args none = {0};
	const struct demo_args *a = cli->command->args_size ? args : &none;

	*seen = (struct demo_seen){
		.rm = a->rm,
		.detach = a->detach,
		.quiet = a->quiet,
		.warm = a->warm,
		.dry_run = cli->dry_run,
		.yes = cli->yes,
		.count = a->count,
		.size = a->size,
		.wait = a->wait,
		.dashdash = cli->dashdash,
	};
	(void)snprintf(seen->cmd, sizeof(seen->cmd), "%s", cli->name);
	(void)snprintf(seen->name, sizeof(seen->name), "%s", a->name ? a->name : "");
	(void)snprintf(seen->mode, sizeof(seen->mode), "%s", a->mode ? a->mode : "");
	join(seen->env, sizeof(seen->env), a->env.v, a->env.n);
	join(seen->config, sizeof(seen->config), cli->config.v, cli->config.n);
	join(seen->operands, sizeof(seen->operands), argv, (size_t)argc);
	return 0;
}

static int demo_fail(struct cli *cli, void *args, int argc, char **argv)
{
	return err_set(&cli->err, EIO, "the cat's \x1b[31m red");
}

static int demo_code(struct cli *cli, void *args, int argc, char **argv)
{
	return 7;
}

static const char *const modes[] = {"fast", "safe", NULL};

/* clang-format off */
static const struct opt run_opts[] = {
	{"name", 'n', OPT_STR, AT(name), "NAME", "name of the sandbox", .complete = COMPLETE_SANDBOX,
	 .was = "label"},
	{"rm", 0, OPT_BOOL, AT(rm), NULL, "remove it afterwards: [always]"},
	{"keep", 0, OPT_NOT, AT(rm), NULL, "don't remove it"},
	{"no-warm", 0, OPT_NOT, AT(warm), NULL, "start cold", .def = "true"},
	{"detach", 'd', OPT_BOOL, AT(detach), NULL, "leave it"},
	{"env", 'e', OPT_STRV, AT(env), "K=V", "set a variable"},
	{"count", 'c', OPT_UINT, AT(count), "N", "how often", .min = 1, .max = 99, .def = "3"},
	{"size", 0, OPT_SIZE, AT(size), "SIZE", "how big", .def = "4K"},
	{"wait", 0, OPT_DURATION, AT(wait), "TIME", "how long to wait before the thing that takes so "
	 "much of everybody's time is given up", .min = 1000},
	{"mode", 0, OPT_CHOICE, AT(mode), "MODE", "how", .choices = modes, .def = "safe"},
	{"memory", 'm', OPT_SIZE, 0, "SIZE", "memory", .key = "limits.memory"},
	{"allow", 0, OPT_STRV, 0, "HOST", "allow a host", .key = "network.allow"},
	{"net", 0, OPT_BOOL, 0, NULL, "network", .key = "network.on"},
	{"no-net", 0, OPT_NOT, 0, NULL, "no network", .key = "network.on"},
	{"secret-switch", 0, OPT_BOOL, AT(quiet), NULL, "hidden", .flags = OPT_HIDDEN},
};
static const struct opt ls_opts[] = {
	{"quiet", 'q', OPT_BOOL, AT(quiet), NULL, "names only"},
};
/* clang-format on */

static const struct command cmd_run = {
	.name = "run",
	.operands = "[PATH] -- CMD...",
	.summary = "run a command",
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	.complete = COMPLETE_DIR,
	.max_operands = OPERANDS_ANY,
	OPTIONS(run_opts, struct demo_args),
	.run = demo_run,
};

static const char *const bots[] = {"bot", NULL};

static bool is_bot(const char *operand)
{
	return streq(operand, bots[0]);
}

static const struct command cmd_start = {
	.name = "start",
	.operands = "BOT [ARG...]",
	.summary = "start a bot",
	.flags = CMD_PASSTHROUGH | CMD_CONFIG | CMD_DRY_RUN,
	.complete = COMPLETE_DIR,
	.words = bots,
	.aliases = bots,
	.ends = is_bot,
	.max_operands = OPERANDS_ANY,
	OPTIONS(run_opts, struct demo_args),
	.run = demo_run,
};

static const struct command cmd_exec = {
	.name = "exec",
	.operands = "NAME CMD...",
	.summary = "run a command in a sandbox",
	.flags = CMD_PASSTHROUGH | CMD_POSIX,
	.complete = COMPLETE_SANDBOX,
	.min_operands = 2,
	.max_operands = OPERANDS_ANY,
	OPTIONS(run_opts, struct demo_args),
	.run = demo_run,
};

static const struct command cmd_ls = {
	.name = "ls",
	.summary = "list sandboxes",
	.group = GROUP_MANAGE,
	.aliases = (const char *const[]){"list", NULL},
	OPTIONS(ls_opts, struct demo_args),
	.run = demo_run,
};

static const struct command cmd_show = {
	.name = "show",
	.operands = "[KEY]",
	.summary = "show settings",
	.flags = CMD_CONFIG,
	.max_operands = 1,
	OPTIONS(ls_opts, struct demo_args),
	.run = demo_run,
};

static const struct command cmd_config = {
	.name = "config",
	.summary = "settings",
	.group = GROUP_CONFIG,
	.subs = (const struct command *const[]){&cmd_show, NULL},
};

static const struct command cmd_rm = {
	.name = "rm",
	.operands = "NAME...",
	.summary = "remove sandboxes",
	.group = GROUP_MANAGE,
	.complete = COMPLETE_SANDBOX,
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.run = demo_run,
};

static const struct command cmd_fail = {
	.name = "fail", .summary = "fail", .group = GROUP_MISC, .run = demo_fail};
static const struct command cmd_fail125 = {.name = "fail125",
					   .summary = "fail",
					   .group = GROUP_MISC,
					   .flags = CMD_PASSTHROUGH,
					   .run = demo_fail};
static const struct command cmd_code = {
	.name = "code", .summary = "exit 7", .flags = CMD_HIDDEN, .run = demo_code};

const struct command *const demo_commands[] = {
	&cmd_run,    &cmd_start, &cmd_exec,    &cmd_ls,	  &cmd_rm,
	&cmd_config, &cmd_fail,	 &cmd_fail125, &cmd_code, NULL,
};

static void read_back(int fd, char *out, size_t size)
{
	ssize_t n = pread(fd, out, size - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	(void)close(fd);
}

struct demo_result *demo_argv(const char *const *argv)
{
	static struct demo_result result;
	int out = memfd_create("out", MFD_CLOEXEC);
	int err = memfd_create("err", MFD_CLOEXEC);
	int argc = 0;
	int status = 0;
	pid_t pid;

	if (!seen)
		seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	*seen = (struct demo_seen){0};
	while (argv[argc])
		argc++;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int code;

		(void)dup2(out, STDOUT_FILENO);
		(void)dup2(err, STDERR_FILENO);
		code = cli_main(demo_commands, argc, (char **)argv);
		(void)fflush(NULL);
		_exit(code);
	}
	(void)waitpid(pid, &status, 0);
	result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_back(out, result.out, sizeof(result.out));
	read_back(err, result.err, sizeof(result.err));
	result.seen = *seen;
	return &result;
}
