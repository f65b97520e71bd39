/*
 * The program that the user starts as `ralph`. It is static, runs the commands that must be fast,
 * and hands everything else to libexec/ralph/cli, which knows all commands. Starting a program that
 * loads libraries costs more than everything `ralph exec` does (bench/exec shows it).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "cli/frame/command.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/frame/program.h"
#include "live/prestart.h"
#include "record/places.h"

/* The command line, for exec_check_env(): reading options moves those of argv. */
static char **asked;

static int run_whole(const struct places *p, char **argv, struct err *err)
{
	cleanup_free char *cli = places_program(p, "cli");

	(void)execv(cli, argv);
	return err_sys(err, errno, "cannot run '%s'; is ralph installed completely?", cli);
}

int exec_check_env(struct cli *cli, const struct places *p, const char *sandbox,
		   const struct strv *env)
{
	return run_whole(p, asked, &cli->err);
}

int exec_here(struct cli *cli, const struct places *p, char **ret)
{
	return run_whole(p, asked, &cli->err);
}

static const struct command *const fast[] = {&cmd_exec, &cmd_shell, NULL};

/* `ralph run` that is meant: what a sandbox needs in any case can be started at once. */
static bool will_start(int argc, char **argv)
{
	if (argc < 3 || !streq(path_base(argv[0]), "ralph") || !streq(argv[1], "run"))
		return false;
	for (int i = 2; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "--dry-run") || streq(argv[i], "--help") || streq(argv[i], "-h"))
			return false;
	return true;
}

/* `ralph hook VERB`, as agents ask it on every tool: not by way of the program that knows
 * everything. */
static bool is_hook(int argc, char **argv)
{
	return argc == 3 && streq(path_base(argv[0]), "ralph") && streq(argv[1], "hook") &&
	       argv[2][0] != '-';
}

/* A batch system starts `ralph worker` without these, or with a home that is on other machines. A worker
 * reads nothing of a home. */
static void fill_worker_environ(int argc, char **argv)
{
	if (argc < 2 || !streq(path_base(argv[0]), "ralph") || !streq(argv[1], "worker"))
		return;
	(void)setenv("HOME", "/", 1);
	(void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
}

int main(int argc, char **argv)
{
	cleanup_free char *hook = NULL;
	struct places p = {0};
	struct err err = {0};

	asked = xcalloc((size_t)argc + 1, sizeof(*asked));
	memcpy(asked, argv, (size_t)argc * sizeof(*asked));
	/* Called by the name of a link, its words are not commands: see agent-alias.h. */
	if (argc > 1 && streq(path_base(argv[0]), "ralph") && command_find(fast, argv[1]))
		return program_main(fast, argc, argv);
	fill_worker_environ(argc, argv);
	if (places_find(&p, &err) < 0) {
		log_error("cli", "%s", err.msg);
		return err_exit_code(&err, EXIT_RUNTIME);
	}
	if (is_hook(argc, argv)) {
		hook = places_program(&p, "hook");
		(void)execv(hook, argv + 1);
	}
	if (will_start(argc, argv) && program_fill_standard_fds() == 0)
		prestart_fork(&p);
	(void)run_whole(&p, argv, &err);
	log_error("cli", "%s", err.msg);
	return EXIT_RALPH;
}
