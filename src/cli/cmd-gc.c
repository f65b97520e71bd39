#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>

#include "sandbox/live.h"
#include "sandbox/store.h"

static int cmd_gc_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv names = {0};
	int r = places_find(&p, &cli->err);

	(void)args;
	if (r == 0)
		r = store_list(&p, &names, &cli->err); /* ends removals that were killed */
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		bool cleaned = false;

		r = live_clean(&p, names.v[i], &cleaned, &cli->err);
		if (r < 0)
			return r;
		if (cleaned)
			(void)printf("%s\twhat a killed supervisor left\n", names.v[i]);
	}
	return 0;
}

const struct command cmd_gc = {
	.name = "gc",
	.summary = "clear away what killed sandboxes left",
	.details =
		"Sockets, cgroups and half-removed records of supervisors and commands that were\n"
		"killed. Every start clears its own; this does it for all, and now. Homes and\n"
		"running sandboxes are not touched.",
	.group = GROUP_MANAGE,
	.run = cmd_gc_run,
};
