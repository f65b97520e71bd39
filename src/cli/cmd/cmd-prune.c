#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <time.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/losses.h"
#include "cli/terminal/ask.h"
#include "live/live.h"
#include "record/orphans.h"
#include "record/record.h"
#include "record/store.h"

struct prune_args {
	uint64_t older_ms;
	bool dry_run, json;
};

#define AT(member) offsetof(struct prune_args, member)

static const struct opt prune_opts[] = {
	{"older", 0, OPT_DURATION, AT(older_ms), "TIME",
	 "also those that were not used for so long"},
	{"dry-run", 'n', OPT_BOOL, AT(dry_run), NULL,
	 "say what would be removed, and remove nothing"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

/* Returns why a sandbox may be removed; NULL: it may not. The caller frees it. */
static char *reason(const struct record_facts *f, uint64_t older_ms)
{
	uint64_t now = (uint64_t)time(NULL), idle = now > f->used ? now - f->used : 0;
	cleanup_free char *span = NULL;

	if (f->gone)
		return xstrdup("its workspace is gone");
	if (!older_ms || !f->used || idle < older_ms / 1000)
		return NULL;
	span = human_span(idle);
	return xasprintf("it was not used for %s", span);
}

static void report(const struct prune_args *args, const char *name, const char *workspace,
		   const char *why, bool removed, json_t *rows)
{
	if (args->json) {
		(void)json_array_append_new(rows, json_pack("{ss so ss sb}", "name", name,
							    "workspace", json_text(workspace),
							    "why", why, "removed", removed));
		return;
	}
	(void)printf("%s %s: %s (", removed ? "removed" : "would remove", name, why);
	term_puts(stdout, workspace);
	(void)puts(")");
}

/* Leaves a live sandbox alone, whatever its record says: the lock decides, not an earlier look. */
static int prune_one(const struct places *p, const char *name, const struct prune_args *args,
		     bool dry, json_t *rows, struct err *err)
{
	cleanup_(record_done) struct record_facts f = {0};
	cleanup_free char *why = NULL;
	cleanup_json json_t *live = NULL;
	int r = record_look(p, name, &f, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* removed meanwhile */
	why = f.workspace ? reason(&f, args->older_ms) : NULL;
	if (!why)
		return 0;
	if (dry)
		r = live_inspect(p, name, &live, err);
	else
		r = live_remove(p, name, false, true, err);
	if (r == -EBUSY || r == -ENOENT || live)
		return 0; /* it runs, or somebody else has removed it just now */
	if (r == 0)
		report(args, name, f.workspace, why, !dry, rows);
	return r;
}

static void no_list(const char *engine, const char *why)
{
	log_warn("prune", "what engine %s keeps is not known: %s", engine, why);
}

/* Removes sandboxes that an engine keeps and ralph has no record of. Returns how many stayed. */
static int prune_orphans(const struct places *p, const struct prune_args *args, bool dry,
			 json_t *rows)
{
	cleanup_(orphans_done) struct orphans found = {0};
	int failed = 0;

	orphans_find(p, &found, no_list);
	for (size_t i = 0; i < found.n; i++) {
		const struct orphan *o = &found.v[i];
		struct err err = {0};

		if (!dry && orphan_remove(o, &err) < 0) {
			log_error("prune", "%s: %s", o->name, err.msg);
			failed++;
			continue;
		}
		report(args, o->name, o->workspace, "its workspace is gone", !dry, rows);
	}
	return failed;
}

/* Returns how many could not be removed. */
static int prune_all(const struct places *p, const struct strv *names,
		     const struct prune_args *args, bool dry, json_t *rows)
{
	int failed = 0;

	for (size_t i = 0; i < names->n; i++) {
		struct err err = {0};

		if (prune_one(p, names->v[i], args, dry, rows, &err) < 0) {
			log_error("prune", "%s: %s", names->v[i], err.msg);
			failed++;
		}
	}
	return failed + prune_orphans(p, args, dry, rows);
}

/* On a terminal: shows what would go, and asks. *ret_go: false when there is nothing to do. */
static int ask_first(struct cli *cli, const struct places *p, const struct strv *names,
		     const struct prune_args *args, bool *ret_go)
{
	cleanup_json json_t *rows = json_array();
	const struct prune_args quiet = {.older_ms = args->older_ms, .json = true};
	cleanup_strv struct strv lost = {0}, going = {0};
	const char *name;
	json_t *row;
	size_t i;
	int r;

	(void)prune_all(p, names, &quiet, true, rows);
	json_array_foreach (rows, i, row) {
		name = json_string_value(json_object_get(row, "name"));
		strv_push(&going, name);
		report(args, name, json_string_value(json_object_get(row, "workspace")),
		       json_string_value(json_object_get(row, "why")), false, NULL);
	}
	*ret_go = going.n > 0;
	if (!*ret_go)
		return 0;
	r = losses_find(p, &going, &lost, &cli->err);
	for (i = 0; i < lost.n; i++) {
		(void)fputs("  lost with it: ", stdout);
		term_puts(stdout, lost.v[i]);
		(void)putchar('\n');
	}
	(void)fflush(stdout);
	if (r == 0)
		r = ask("Remove for good?", false, ret_go, &cli->err);
	return r < 0 || *ret_go
		       ? r
		       : err_set(&cli->err, ECANCELED, "not confirmed: nothing is removed");
}

static int cmd_prune_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct prune_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *rows = json_array();
	cleanup_strv struct strv names = {0};
	int r = places_find(&p, &cli->err), failed;
	bool dry = args->dry_run || cli->dry_run, go = true;

	if (r == 0)
		r = store_names(&p, &names, &cli->err);
	if (r == 0 && !dry && !args->json && !cli->yes && ask_possible())
		r = ask_first(cli, &p, &names, args, &go);
	if (r < 0 || !go)
		return r;
	failed = prune_all(&p, &names, args, dry, rows);
	if (args->json) {
		(void)json_show(rows, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	}
	return failed ? EXIT_RUNTIME : 0;
}

static const char *const prune_aliases[] = {"prune-sandboxes", NULL};

const struct command cmd_prune = {
	.name = "prune",
	.summary = "remove sandboxes whose workspace is gone",
	.details = "The homes of projects stay. One that is running is never touched. Docker\n"
		   "Sandboxes named agent-loop-… that no record here knows go too when their\n"
		   "workspace is gone. On a terminal ralph first shows what would go, and asks.",
	.group = GROUP_MANAGE,
	.flags = CMD_DRY_RUN,
	OPTIONS(prune_opts, struct prune_args),
	.aliases = prune_aliases,
	.run = cmd_prune_run,
};
