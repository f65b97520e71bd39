#include "cli/frame/command.h"
#include "cli/commands.h"

#include <unistd.h>

#include "record/places.h"
#include "wire/fleet.h"

/* The command on a node: libexec/ralph/worker takes the place of this process. */
struct worker_args {
	uint64_t slots;
};

#define AT(member) offsetof(struct worker_args, member)

/* clang-format off */
static const struct opt worker_opts[] = {
	{"slots", 0, OPT_UINT, AT(slots), "N", "tasks at once over one stream", .def = "1", .min = 1, .max = FLEET_SLOTS_MAX},
};
/* clang-format on */

static int cmd_worker_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct worker_args *a = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *program = NULL, *slots = xasprintf("%llu", (unsigned long long)a->slots);
	int r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return cli_usage(cli, "this is started by a loop on another machine, which speaks "
				      "over standard input and output; see ralph-worker(1)");
	program = places_program(&p, "worker");
	(void)execv(program, (char *[]){program, (char *)(uintptr_t) "--slots", slots, NULL});
	return err_sys(&cli->err, errno, "cannot run '%s'; is ralph installed completely?",
		       program);
}

const struct command cmd_worker = {
	.name = "worker",
	.summary = "run tasks of a loop on another machine",
	.details = "Started by a placement of the loop's (ssh, srun, kubectl exec). Standard input "
		   "and\n"
		   "output are the stream to that loop. What the worker makes lies in a directory\n"
		   "of its own below /tmp, and is gone with it.",
	.group = GROUP_LOOP,
	OPTIONS(worker_opts, struct worker_args),
	.max_operands = 0,
	.run = cmd_worker_run,
};
