#include "cli/frame/command.h"
#include "cli/commands.h"

#include <unistd.h>

#include "base/path.h"
#include "engine/launch.h"
#include "wire/fleet.h"

/* The command on a node: libexec/ralph/worker takes the place of this process. */
struct worker_args {
	uint64_t slots;
	bool hold, keep_job;
};

#define AT(member) offsetof(struct worker_args, member)

/* clang-format off */
static const struct opt worker_opts[] = {
	{"slots", 0, OPT_UINT, AT(slots), "N", "tasks at once over one stream", .def = "1", .min = 1, .max = FLEET_SLOTS_MAX},
	{"hold", 0, OPT_BOOL, AT(hold), NULL, "wait for a worker in this container, and end with it"},
	{"keep-job", 0, OPT_BOOL, AT(keep_job), NULL, "do not cancel the batch job that this is in"},
};
/* clang-format on */

static int cmd_worker_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct worker_args *a = args_;
	/* A batch system may start it without HOME, which nothing here needs. */
	cleanup_free char *libexec = launch_programs(), *program = path_join(libexec, "worker");
	cleanup_free char *slots = xasprintf("%llu", (unsigned long long)a->slots);
	char *words[5] = {program, (char *)(uintptr_t) "--slots", slots};

	if (a->hold && (a->slots > 1 || a->keep_job))
		return cli_usage(cli, "--hold runs no task: it takes no other option");
	if (!a->hold && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return cli_usage(cli, "this is started by a loop on another machine, which speaks "
				      "over standard input and output; see ralph-worker(1)");
	if (a->hold)
		words[1] = (char *)(uintptr_t) "--hold", words[2] = NULL;
	else if (a->keep_job)
		words[3] = (char *)(uintptr_t) "--keep-job";
	(void)execv(program, words);
	return err_sys(&cli->err, errno, "cannot run '%s'; is ralph installed completely?",
		       program);
}

const struct command cmd_worker = {
	.name = "worker",
	.summary = "run tasks of a loop on another machine",
	.details = "Started by a placement of the loop's (ssh, srun, kubectl exec). Standard\n"
		   "input and output are the stream to that loop. What the worker makes lies in\n"
		   "a directory of its own below /tmp, and is gone with it.",
	.group = GROUP_LOOP,
	OPTIONS(worker_opts, struct worker_args),
	.max_operands = 0,
	.run = cmd_worker_run,
};
