#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>

#include "base/log.h"
#include "sandbox/live.h"
#include "sandbox/record.h"

struct prune_args {
	uint64_t older_ms;
	bool dry_run;
};

#define AT(member) offsetof(struct prune_args, member)

/* clang-format off */
static const struct opt prune_opts[] = {
	{"older", 0, OPT_DURATION, AT(older_ms), "TIME", "only those that were not used for so long"},
	{"dry-run", 'n', OPT_BOOL, AT(dry_run), NULL, "say what would be removed, and remove nothing"},
};
/* clang-format on */

static void report(const char *name, const char *workspace)
{
	(void)printf("%s\t", name);
	term_puts(stdout, workspace);
	(void)printf(" is gone\n");
	(void)fflush(stdout);
}

static int cmd_prune_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct prune_args *args = args_;
	cleanup_(record_prune_done) struct record_prune found = {0};
	cleanup_(places_done) struct places p = {0};
	int first = 0, r = places_find(&p, &cli->err);

	if (r == 0)
		r = record_prunable(&p, args->older_ms / 1000, &found, &cli->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < found.names.n; i++) {
		const char *name = found.names.v[i];
		struct err err = {0};

		if (!args->dry_run && !record_is_orphan(&p, name))
			continue; /* somebody was faster */
		r = args->dry_run ? 0 : live_remove(&p, name, false, &err);
		if (r == -EBUSY || r == -ENOENT)
			continue; /* it was started, or removed, just now */
		if (r == 0) {
			report(name, found.workspaces.v[i]);
		} else if (first == 0) {
			first = r;
			cli->err = err;
		} else {
			log_error("prune", "%s", err.msg);
		}
	}
	return first;
}

static const char *const aliases[] = {"prune-sandboxes", NULL};

const struct command cmd_prune = {
	.name = "prune",
	.summary = "remove sandboxes whose workspace is gone",
	.details = "Prints each sandbox that was removed. One that runs is never touched, nor is\n"
		   "one whose workspace is there, nor anything of another tool.",
	.group = GROUP_MANAGE,
	OPTIONS(prune_opts, struct prune_args),
	.aliases = aliases,
	.run = cmd_prune_run,
};
