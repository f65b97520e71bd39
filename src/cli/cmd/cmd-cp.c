#include "cli/frame/command.h"
#include "cli/commands.h"

#include <string.h>

#include "base/log.h"
#include "live/cp.h"
#include "record/name.h"

/* "NAME:PATH"; NULL for a path of the host. A host's path with a colon is written ./a:b. */
static const char *split(const char *text, char **ret_name)
{
	const char *colon = strchr(text, ':');
	cleanup_free char *name = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;

	if (!name || !name_valid(name))
		return NULL;
	*ret_name = take_ptr(name);
	return colon + 1;
}

static int cmd_cp_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_free char *from_name = NULL, *to_name = NULL;
	const char *from = split(argv[0], &from_name), *to = split(argv[1], &to_name);
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv skipped = {0};
	const struct sandbox_copy copy = {
		.name = from ? from_name : to_name,
		.inside = from ? from : to,
		.outside = from ? argv[1] : argv[0],
		.out = from != NULL,
	};
	int r;

	(void)args;
	if (!from == !to)
		return cli_usage(cli,
				 "one of the two must be NAME:PATH, the other a path of yours");
	if (!copy.inside[0] || !copy.outside[0])
		return cli_usage(cli, "a path is missing");
	r = places_find(&p, &cli->err);
	if (r == 0)
		r = sandbox_copy(&p, &copy, &skipped, &cli->err);
	for (size_t i = 0; i < skipped.n; i++)
		log_warn("cp", "%s", skipped.v[i]);
	return r;
}

const struct command cmd_cp = {
	.name = "cp",
	.operands = "NAME:PATH|PATH PATH|NAME:PATH",
	.summary = "copy files into a sandbox or out of it",
	.details =
		"One side is a path in a sandbox, below its workspace, its home or a mount; a\n"
		"relative one is in the workspace. The sandbox may run or not. Directories are\n"
		"copied whole. Of what comes out, links that lead elsewhere, pipes, sockets and\n"
		"devices are left out, and said so; no link is ever followed.",
	.group = GROUP_MANAGE,
	.min_operands = 2,
	.max_operands = 2,
	.complete = COMPLETE_FILE,
	.run = cmd_cp_run,
};
