/*
 * walk-bench start|stock DIR: one look at a tree as the start of a sandbox takes it. start: for
 * protected names, as the command line does; stock: what is there, as the supervisor writes it down.
 */
#include "workspace/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "spec/spec.h"
#include "workspace/findings.h"
#include "workspace/seen.h"

static int look_for_names(const char *dir)
{
	const struct guard_input in = {.dir = dir};
	struct guard g;
	struct err e = {0};
	int r = guard_find(&in, &g, &e);

	if (r < 0)
		(void)fprintf(stderr, "walk-bench: %s\n", e.msg);
	guard_done(&g);
	return r < 0;
}

static int take_stock(const char *dir)
{
	struct sandbox_spec *spec = spec_new();
	cleanup_(seen_freep) struct seen *seen = NULL;
	struct findings found = {0};
	size_t n;

	spec_watch_add(spec, SPEC_WATCH_TREE, dir);
	seen = seen_new(spec, "/nonexistent", &found);
	n = found.n;
	findings_done(&found);
	spec_free(spec);
	return n > 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], "start"))
		return look_for_names(argv[2]);
	if (argc == 3 && streq(argv[1], "stock"))
		return take_stock(argv[2]);
	(void)fprintf(stderr, "walk-bench start|stock DIR\n");
	return 2;
}
