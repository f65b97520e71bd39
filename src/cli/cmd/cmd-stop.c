#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/for-each-sandbox.h"
#include "cli/loop-stop.h"
#include "cli/net-common.h"
#include "live/live.h"

struct stop_args {
	bool all;
	uint64_t grace_ms;
};

#define AT(member) offsetof(struct stop_args, member)

/* clang-format off */
static const struct opt stop_opts[] = {
	{"all", 'a', OPT_BOOL, AT(all), NULL, "stop every sandbox"},
	{"time", 0, OPT_DURATION, AT(grace_ms), "TIME", "how long commands may take to end",
	 .def = "5s", .max = 600000},
};
/* clang-format on */

static int stop_one(const struct places *p, const char *name, void *args_, struct err *err)
{
	const struct stop_args *args = args_;

	return live_stop(p, name, (uint32_t)args->grace_ms, err);
}

/* Where no loop runs here: stops this project's sandbox. */
static int stop_here(struct cli *cli, void *args)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *name = NULL;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = net_record(cli, &p, NULL, &name);
	if (r < 0)
		return err_hint(&cli->err, r, "name a sandbox, or use --all; see: ralph ls");
	return for_each_sandbox(cli, false, 1, &name, stop_one, args);
}

static int cmd_stop_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct stop_args *args = args_;

	if (argc == 0 && !args->all) {
		int r = loops_stop(NULL, &cli->err);

		if (r == -ETIMEDOUT)
			return r;
		if (r < 0)
			return stop_here(cli, args_);
		(void)printf("the loop is stopped; go on with: ralph resume\n");
		return 0;
	}
	return for_each_sandbox(cli, args->all, argc, argv, stop_one, args_);
}

const struct command cmd_stop = {
	.name = "stop",
	.operands = "[NAME…]",
	.summary = "end what runs in sandboxes; the project's home stays",
	.details = "Commands get SIGTERM, and after --time everything inside is killed. Returns\n"
		   "when nothing is left. Without NAME, the loop of the workspace is stopped, and\n"
		   "its sandbox with it; if no loop runs there, this project's sandbox.",
	.group = GROUP_MANAGE,
	OPTIONS(stop_opts, struct stop_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_stop_run,
};
