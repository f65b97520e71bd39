#include "cli/for-each-sandbox.h"

#include <stdio.h>

#include "base/log.h"
#include "record/store.h"

static int collect(struct cli *cli, const struct places *p, bool all, int argc, char **argv,
		   struct strv *names)
{
	if (all && argc > 0)
		return cli_usage(cli, "--all and names exclude each other");
	if (!all && argc == 0)
		return cli_usage(cli, "name a sandbox, or use --all; see: ralph ls");
	for (int i = 0; i < argc; i++)
		strv_push(names, argv[i]);
	return all ? store_list(p, names, &cli->err) : 0;
}

int for_each_sandbox(struct cli *cli, bool all, int argc, char **argv, for_each_fn *fn, void *arg)
{
	return for_each_asked(cli, all, argc, argv, NULL, fn, arg);
}

int for_each_asked(struct cli *cli, bool all, int argc, char **argv, for_all_fn *before,
		   for_each_fn *fn, void *arg)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv names;
	int first = 0, r;

	strv_init(&names);
	r = places_find(&p, &cli->err);
	if (r == 0)
		r = collect(cli, &p, all, argc, argv, &names);
	if (r == 0 && before)
		r = before(cli, &p, &names, arg);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		struct err err = {0};

		r = fn(&p, names.v[i], arg, &err);
		if (r == 0) {
			(void)puts(names.v[i]);
			(void)fflush(stdout);
		} else if (all && store_is_gone(&p, names.v[i])) {
			continue; /* somebody else was faster */
		} else if (first == 0) {
			first = r;
			cli->err = err;
		} else {
			log_error("cli", "%s", err.msg);
		}
	}
	return first;
}
