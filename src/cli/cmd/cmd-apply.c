#include "cli/clone.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/term.h"

struct apply_args {
	bool json;
};

static const struct opt apply_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct apply_args, json), NULL, "print JSON"},
};

static void print_warnings(const char *ref, const json_t *warnings)
{
	json_t *w;
	size_t i;

	json_array_foreach (warnings, i, w)
		log_warn("apply", "%s changes '%s': %s", ref,
			 json_string_value(json_object_get(w, "path")),
			 json_string_value(json_object_get(w, "why")));
}

static void print_refs(const json_t *refs)
{
	json_t *row;
	size_t i;

	json_array_foreach (refs, i, row) {
		const char *ref = json_string_value(json_object_get(row, "ref"));
		const char *oid = json_string_value(json_object_get(row, "oid"));
		json_int_t n = json_integer_value(json_object_get(row, "commits"));

		term_puts(stdout, ref);
		(void)printf("  %.12s  ", oid);
		if (n < 0)
			(void)puts("no common history");
		else
			(void)printf("%lld %s ahead\n", (long long)n,
				     n == 1 ? "commit" : "commits");
		print_warnings(ref, json_object_get(row, "warnings"));
	}
}

static int cmd_apply_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct apply_args *args = args_;
	cleanup_clone struct clone c = {0};
	cleanup_free char *text = NULL;
	cleanup_json json_t *j = NULL;
	int r = clone_open(cli, argv[0], &c);

	if (r == 0) {
		const char *const repo[] = {"apply", c.spec->workspace, c.spec->name, NULL};

		r = clone_take(cli, &c, repo, &text);
	}
	if (r == 0)
		r = json_parse(text, strlen(text), &j, &cli->err);
	if (r < 0)
		return r;
	if (args->json) {
		(void)json_show(json_object_get(j, "refs"), stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else {
		print_refs(json_object_get(j, "refs"));
	}
	return 0;
}

const struct command cmd_apply = {
	.name = "apply",
	.operands = "NAME",
	.summary = "take the commits over from a sandbox's own clone",
	.details =
		"Of a sandbox that was started with 'ralph run --clone'. Its branches become\n"
		"NAME/BRANCH in the repository, as those of a remote; nothing else changes there.\n"
		"Look at them with 'git log HEAD..NAME/BRANCH', take them with 'git merge'.",
	.group = GROUP_MANAGE,
	OPTIONS(apply_opts, struct apply_args),
	.min_operands = 1,
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_apply_run,
};
