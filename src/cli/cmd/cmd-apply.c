#include "cli/clone.h"
#include "cli/commands.h"
#include "cli/held.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/term.h"
#include "cli/terminal/ask.h"
#include "live/git-repo.h"

struct apply_args {
	bool json, gitlinks, protected, drop, commit;
	const char *force;
};

#define AT(member) offsetof(struct apply_args, member)

static const struct opt apply_opts[] = {
	{"force", 0, OPT_STR, AT(force), "BRANCH", "your BRANCH becomes what is held of it"},
	{"gitlinks", 0, OPT_BOOL, AT(gitlinks), NULL, "also commits that add submodules"},
	{"protected", 0, OPT_BOOL, AT(protected), NULL, "also commits that change protected files"},
	{"drop", 0, OPT_BOOL, AT(drop), NULL, "forget what is held"},
	{"commit", 0, OPT_BOOL, AT(commit), NULL, "first commit what is uncommitted in a clone"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
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

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static void print_row(FILE *out, const json_t *row, const char *key)
{
	held_print_ref(row, out);
	(void)fputs(": ", out);
	term_puts(out, text_of(row, key));
	(void)fputc('\n', out);
}

/* Exit 1 where something stays held. */
static int show_settled(const struct apply_args *args, const char *name, const json_t *j)
{
	const json_t *settled = json_object_get(j, "settled"), *left = json_object_get(j, "left");
	json_t *row;
	size_t i;

	if (args->json) {
		(void)json_show(j, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else if (!json_array_size(settled) && !json_array_size(left)) {
		(void)fprintf(stderr, "ralph: nothing of sandbox '%s' is held\n", name);
	} else {
		json_array_foreach (settled, i, row)
			print_row(stdout, row, "how");
		json_array_foreach (left, i, row)
			print_row(stderr, row, "why");
	}
	return json_array_size(left) ? EXIT_RUNTIME : 0;
}

/* Names the files that the host runs, and asks where somebody can answer. */
static int show_protected(struct cli *cli, const struct apply_args *args, const char *name,
			  const struct held *h, const char *ref, bool *ret_yes)
{
	const char *const list[] = {"held", h->root, name, NULL};
	cleanup_json json_t *j = NULL;
	int r = held_ask(cli, h, list, &j);
	size_t i, n = 0;
	json_t *row;

	json_array_foreach (json_object_get(j, "held"), i, row) {
		size_t files = json_array_size(json_object_get(row, "protected"));

		if (files == 0 ||
		    (*ref && (!streq(ref, text_of(row, "ref")) || json_object_get(row, "module"))))
			continue;
		held_print_ref(row, stderr);
		(void)fputs(" changes files that your host runs:\n", stderr);
		held_print_protected(row, "  ", stderr);
		n += files;
	}
	*ret_yes = true;
	if (r < 0 || n == 0 || cli->yes || args->json || !ask_possible())
		return r;
	return ask("Merge them into your branches?", false, ret_yes, &cli->err);
}

static int settle(struct cli *cli, const struct apply_args *args, const char *name,
		  const struct held *h)
{
	bool whole = args->force && (strncmp(args->force, "tags/", 5) == 0 ||
				     strncmp(args->force, "heads/", 6) == 0);
	cleanup_free char *ref = !args->force ? xstrdup("")
				 : whole      ? xstrdup(args->force)
					      : xasprintf("heads/%s", args->force);
	cleanup_free char *how =
		xasprintf("%s%s%s",
			  args->drop	? "drop"
			  : args->force ? "force"
					: "merge",
			  args->gitlinks ? ",gitlinks" : "", args->protected ? ",protected" : "");
	const char *const repo[] = {"settle", h->root, name, how, ref, NULL};
	cleanup_json json_t *j = NULL;
	bool yes = true;
	int r = 0;

	if (args->commit)
		return err_usage(&cli->err, "--commit is for a clone, and sandbox '%s' has none",
				 name);
	if (args->drop + (args->gitlinks || args->protected) > 1 ||
	    args->drop + (args->force != NULL) > 1 || args->gitlinks + (args->force != NULL) > 1)
		return err_usage(&cli->err, "use one of --force, --gitlinks and --drop");
	if (args->protected)
		r = show_protected(cli, args, name, h, ref, &yes);
	if (r < 0 || !yes)
		return r < 0 ? r : EXIT_RUNTIME;
	r = held_ask(cli, h, repo, &j);
	return r < 0 ? r : show_settled(args, name, j);
}

/* Uncommitted work of the clone: committed there if the user says so, else named. */
static int settle_work(struct cli *cli, const struct apply_args *args, const struct clone *c)
{
	cleanup_free char *question = NULL;
	uint64_t files = 0;
	bool yes = args->commit || cli->yes;
	int r = clone_uncommitted(cli, c, &files);

	if (r < 0 || files == 0)
		return r;
	question = xasprintf("Commit %llu uncommitted %s of the clone first?",
			     (unsigned long long)files, files == 1 ? "file" : "files");
	if (!yes && ask_possible())
		r = ask(question, true, &yes, &cli->err);
	if (r == 0 && yes)
		return clone_commit(cli, c);
	if (r == 0)
		log_warn("apply",
			 "left out: %llu uncommitted %s of the clone; to commit and apply: ralph "
			 "apply --commit %s",
			 (unsigned long long)files, files == 1 ? "file" : "files", c->spec->name);
	return r;
}

static int apply_clone(struct cli *cli, const struct apply_args *args, const char *name)
{
	cleanup_clone struct clone c = {0};
	cleanup_free char *text = NULL;
	cleanup_json json_t *j = NULL;
	int r = args->force || args->gitlinks || args->protected || args->drop
			? err_usage(&cli->err,
				    "sandbox '%s' works in a clone: nothing is held of it", name)
			: clone_open(cli, name, &c);

	if (r == 0)
		r = settle_work(cli, args, &c);
	if (r == 0) {
		const char *const repo[] = {"apply", c.spec->workspace, c.spec->name, NULL};

		r = clone_take(cli, &c, repo, false, &text);
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

static int cmd_apply_run(struct cli *cli, void *args_, int argc, char **argv)
{
	cleanup_held struct held h = {0};
	int r = held_open(cli, argv[0], &h);

	if (r < 0)
		return r;
	return h.root ? settle(cli, args_, argv[0], &h) : apply_clone(cli, args_, argv[0]);
}

const struct command cmd_apply = {
	.name = "apply",
	.operands = "NAME",
	.summary = "merge the commits that ralph holds back",
	.details =
		"ralph imports commits of a sandbox by itself, unless you committed to the same\n"
		"branch, or they rewrite your commits, add a submodule, or change files that your\n"
		"host runs (hooks, settings of editors and agents). Such commits are held.\n"
		"apply merges them; no file is touched, because the tree has them already.\n"
		"--force BRANCH replaces your branch; its tip stays in refs/ralph/NAME/was/.\n"
		"\n"
		"Of a sandbox that was started with 'ralph run --clone', branches become\n"
		"NAME/BRANCH in the repository, as those of a remote; nothing else changes there.\n"
		"Look at them with 'git log HEAD..NAME/BRANCH', take them with 'git merge'.\n"
		"Uncommitted work of the clone is offered to be committed there first; without\n"
		"a terminal only with --commit.",
	.group = GROUP_MANAGE,
	OPTIONS(apply_opts, struct apply_args),
	.min_operands = 1,
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_apply_run,
};
