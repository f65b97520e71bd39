#include "cli/clone.h"
#include "cli/commands.h"
#include "cli/held.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/term.h"
#include "live/git-repo.h"
#include "view/log-view.h"
#include "view/records.h"
#include "workspace/gitdir.h"

#define PATCH_MAX (64 * MiB) /* of one branch, as JSON */
#define PATCH_MS (10 * 60 * 1000)

struct diff_args {
	bool stat, json;
	uint64_t iteration;
};

static const struct opt diff_opts[] = {
	{"stat", 0, OPT_BOOL, offsetof(struct diff_args, stat), NULL,
	 "how much has changed in which file"},
	{"json", 0, OPT_BOOL, offsetof(struct diff_args, json), NULL, "print JSON"},
	{"iteration", 0, OPT_UINT, offsetof(struct diff_args, iteration), "N",
	 "what iteration N of a loop committed", .min = 1, .max = UINT32_MAX},
};

/* "# heads/main: 2 commits ahead of yours, 1 behind": no part of the patch. */
static void print_head(const json_t *row)
{
	const char *module = json_string_value(json_object_get(row, "module"));

	(void)fputs("# ", stdout);
	if (module) {
		term_puts(stdout, module);
		(void)fputs(": ", stdout);
	}
	term_puts(stdout, json_string_value(json_object_get(row, "ref")));
	if (json_object_get(row, "ahead"))
		(void)printf(": %lld commits ahead of yours, %lld behind",
			     (long long)json_integer_value(json_object_get(row, "ahead")),
			     (long long)json_integer_value(json_object_get(row, "behind")));
	(void)putchar('\n');
	held_print_protected(row, "#   ", stdout);
	(void)fflush(stdout);
}

/* Runs libexec/ralph/repo. ret NULL: on stdout; else the caller frees it. */
static int repo(struct cli *cli, const struct places *p, const char *const *words, char **ret,
		int *ret_code)
{
	cleanup_free char *program = places_program(p, "repo");
	cleanup_strv struct strv argv = {0};
	struct child child;
	struct run run = RUN_INIT;
	int r;

	strv_push(&argv, program);
	for (; *words; words++)
		strv_push(&argv, *words);
	run.argv = argv.v;
	run.stdio[1] = STDOUT_FILENO;
	run.stdio[2] = STDERR_FILENO;
	if (ret) {
		r = run_collect(&run, PATCH_MS, PATCH_MAX, ret, ret_code, &cli->err);
	} else {
		r = run_start(&run, &child, &cli->err);
		*ret_code = r == 0 ? run_wait(&child) : 0;
	}
	return r;
}

static int show(struct cli *cli, const struct held *h, const char *name, const json_t *row,
		const char *flags, char **ret)
{
	const char *ref = json_string_value(json_object_get(row, "ref"));
	const char *root = json_string_value(json_object_get(row, "root"));
	const char *const words[] = {"show", root ? root : h->root, name, ref, flags, NULL};
	int code = 0, r = repo(cli, &h->places, words, ret, &code);

	if (r == 0 && code != 0)
		r = err_set(&cli->err, EIO, "'%s' of sandbox '%s' cannot be shown", ref, name);
	return r;
}

static char *flags_of(const struct diff_args *args)
{
	return xasprintf("-%s%s", args->stat ? "s" : "",
			 !args->json && isatty(STDOUT_FILENO) ? "t" : "");
}

/* Adds the text of a branch to its row: "patch", or "stat" with --stat. */
static void put_text(const struct diff_args *args, json_t *row, const char *text)
{
	(void)json_object_set_new(row, args->stat ? "stat" : "patch", json_text(text));
}

static void print_json(const char *name, json_t *branches)
{
	cleanup_json json_t *j = json_pack("{ss sO}", "sandbox", name, "branches", branches);

	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static int show_row(struct cli *cli, const struct diff_args *args, const struct held *h,
		    const char *name, json_t *row)
{
	cleanup_free char *flags = flags_of(args), *text = NULL;
	int r;

	if (!args->json)
		print_head(row);
	r = show(cli, h, name, row, flags, args->json ? &text : NULL);
	if (r == 0 && args->json)
		put_text(args, row, text);
	return r;
}

/* What is held, or one branch of it. */
static int diff_held(struct cli *cli, const struct diff_args *args, const struct held *h,
		     const char *name, const char *branch)
{
	const char *const list[] = {"held", h->root, name, NULL};
	cleanup_free char *only = branch ? xasprintf("heads/%s", branch) : NULL;
	cleanup_json json_t *j = NULL, *branches = json_array();
	int r = held_ask(cli, h, list, &j);
	json_t *row;
	size_t i, n = 0;

	json_array_foreach (json_object_get(j, "held"), i, row) {
		const char *ref = json_string_value(json_object_get(row, "ref"));

		if (r < 0 || !ref ||
		    (only && (!streq(only, ref) || json_object_get(row, "module"))))
			continue;
		n++;
		r = show_row(cli, args, h, name, row);
		(void)json_array_append(branches, row);
	}
	if (r == 0 && n == 0 && branch)
		return err_set(&cli->err, ENOENT, "nothing of branch '%s' is held", branch);
	if (r == 0 && args->json)
		print_json(name, branches);
	else if (r == 0 && n == 0)
		(void)fprintf(stderr,
			      "ralph: nothing of sandbox '%s' is held: its commits are in "
			      "your repository\n",
			      name);
	return r;
}

static void tell_uncommitted(uint64_t files, const char *name)
{
	if (files)
		(void)fprintf(stderr,
			      "ralph: %llu uncommitted %s included; 'ralph apply --commit %s' "
			      "commits and applies them\n",
			      (unsigned long long)files, files == 1 ? "file is" : "files are",
			      name);
}

static int diff_clone(struct cli *cli, const struct diff_args *args, int argc, char **argv)
{
	cleanup_clone struct clone c = {0};
	cleanup_free char *flags = flags_of(args), *text = NULL;
	uint64_t files = 0;
	int r = clone_open(cli, argv[0], &c);

	if (r == 0)
		r = clone_uncommitted(cli, &c, &files);
	if (r < 0)
		return r;
	tell_uncommitted(files, argv[0]);
	{
		const char *const repo[] = {"diff", c.spec->workspace,
					    argc > 1 ? argv[1] : c.spec->branch, flags, NULL};

		r = clone_take(cli, &c, repo, files > 0, args->json ? &text : NULL);
	}
	if (r == 0 && args->json) {
		cleanup_free char *ref = xasprintf("heads/%s", argc > 1 ? argv[1] : c.spec->branch);
		cleanup_json json_t *rows = json_pack("[{so}]", "ref", json_text(ref));

		put_text(args, json_array_get(rows, 0), text);
		print_json(argv[0], rows);
	}
	return r;
}

/* The commits of one iteration of a loop. They are read as those of a sandbox are: without
 * the settings, filters and drivers of the repository. */
static int diff_iteration(struct cli *cli, const struct diff_args *args, const char *path)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_free char *workspace = NULL, *flags = flags_of(args), *text = NULL;
	cleanup_json json_t *record = NULL;
	int code = 0, r = path_real(path, &workspace, &cli->err);

	if (r == 0)
		r = places_find(&p, &cli->err);
	if (r == 0)
		r = records_find(&p, workspace, args->iteration, &record, &cli->err);
	if (r == 0)
		r = gitdir_find(workspace, NULL, &git, &cli->err);
	if (r < 0)
		return r;
	if (!*log_text(record, "commit") || !git.root)
		return err_set(&cli->err, ENOENT, "iteration %llu committed nothing",
			       (unsigned long long)args->iteration);
	{
		const char *const words[] = {
			"commit", git.root, log_text(record, "before"), log_text(record, "commit"),
			flags,	  NULL};

		r = repo(cli, &p, words, args->json ? &text : NULL, &code);
	}
	if (r == 0 && code != 0)
		return err_set(&cli->err, EIO, "commit %s cannot be shown",
			       log_text(record, "commit"));
	if (r == 0 && args->json) {
		put_text(args, record, text);
		(void)json_show(record, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	}
	return r;
}

static int cmd_diff_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct diff_args *args = args_;
	cleanup_held struct held h = {0};
	int r;

	if (args->iteration && argc > 1)
		return cli_usage(cli, "--iteration takes the path of one project");
	if (args->iteration)
		return diff_iteration(cli, args, argc ? argv[0] : ".");
	if (argc == 0)
		return cli_usage(cli, "name a sandbox; see: ralph ls");
	r = held_open(cli, argv[0], &h);
	if (r < 0)
		return r;
	return h.root ? diff_held(cli, args_, &h, argv[0], argc > 1 ? argv[1] : NULL)
		      : diff_clone(cli, args_, argc, argv);
}

const struct command cmd_diff = {
	.name = "diff",
	.operands = "NAME [BRANCH] | --iteration N [PATH]",
	.summary = "show commits of a sandbox that are not in your branches",
	.details =
		"What is held of a sandbox's commits (see 'ralph apply --help'), against the\n"
		"commit that both come from.\n"
		"\n"
		"Of a sandbox that was started with 'ralph run --clone': the difference between\n"
		"the commit that both come from and BRANCH of the clone (the branch that it\n"
		"began with), with the uncommitted work of the branch that the clone is on.\n"
		"\n"
		"With --iteration: what that iteration of the loop of PATH (here) committed.",
	.group = GROUP_MANAGE,
	OPTIONS(diff_opts, struct diff_args),
	.max_operands = 2,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_diff_run,
};
