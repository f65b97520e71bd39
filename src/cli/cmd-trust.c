#include "cli/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/path.h"
#include "cli/ask.h"
#include "cli/settings.h"
#include "cli/table.h"
#include "cli/trust.h"
#include "config/trust.h"

struct trust_args {
	bool list, revoke, json;
};

#define AT(member) offsetof(struct trust_args, member)

static const struct opt trust_opts[] = {
	{"list", 'l', OPT_BOOL, AT(list), NULL, "list what is trusted"},
	{"revoke", 0, OPT_BOOL, AT(revoke), NULL, "trust the project file no more"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the list as JSON"},
};

static int record(struct cli *cli, const struct settings_sources *from, struct trust_state *t)
{
	bool yes = cli->yes;
	int r;

	r = trust_show(cli, &from->src, t);
	if (r == 0 && !yes && !ask_possible())
		return err_usage(&cli->err,
				 "there is no terminal to ask on; if you agree, add --yes");
	if (r == 0 && !yes)
		r = ask("Trust exactly this content?", false, &yes, &cli->err);
	if (r < 0)
		return r;
	if (!yes)
		return err_set(&cli->err, ECANCELED, "not confirmed: it is not trusted");
	r = trust_set(t->dir, t->project, buf_str(&t->text), t->text.len, &cli->err);
	if (r == 0)
		(void)printf("%s is trusted as it is now\n", from->project);
	return r;
}

static int trust_project(struct cli *cli, const char *path)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_trust struct trust_state t = {0};
	int r = settings_sources_find(cli, path, &from);

	if (r == 0)
		r = trust_look(&from.places, &from.src, &t, &cli->err);
	if (r < 0)
		return r;
	if (!t.project)
		return err_usage(&cli->err, "there is no project file at %s; nothing to trust",
				 from.project);
	if (t.n_widenings == 0)
		(void)printf("%s only tightens: it needs no trust\n", from.project);
	else if (t.trusted)
		(void)printf("%s is trusted already\n", from.project);
	else
		return record(cli, &from, &t);
	return 0;
}

static int revoke_trust(struct cli *cli, const char *path)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_free char *dir = NULL, *project = NULL;
	int r = settings_sources_find(cli, path, &from);

	if (r < 0)
		return r;
	dir = path_join(from.places.state, "trust");
	/* A project that is gone can still be named as the list does. */
	if (path_real(path ? path : ".", &project, &cli->err) < 0)
		project = xstrdup(path ? path : ".");
	r = trust_revoke(dir, project, &cli->err);
	if (r == -ENOENT)
		return err_usage(&cli->err,
				 "'%s' is not trusted; 'ralph trust --list' lists what is",
				 project);
	return r;
}

/* Does the record still hold what is there? */
static const char *standing(const struct trust *t)
{
	cleanup_free char *file = path_join(t->project, ".ralph/config.yaml");
	char sha256[TRUST_HASH_LEN + 1];
	cleanup_buf struct buf text;
	struct err ignored = {0};
	bool there = false;

	buf_init(&text, CONFIG_FILE_MAX);
	if (config_project_read(file, &text, &there, &ignored) < 0)
		return "changed";
	if (!there)
		return "gone";
	trust_hash(buf_str(&text), text.len, sha256);
	return streq(sha256, t->sha256) ? "trusted" : "changed";
}

static void list_json(const struct trust *t, size_t n)
{
	cleanup_json json_t *rows = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(
			rows, json_pack("{so ss sI ss}", "project", json_text(t[i].project),
					"sha256", t[i].sha256, "since", (json_int_t)t[i].since,
					"state", standing(&t[i])));
	(void)json_dumpf(rows, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void list_table(struct cli *cli, const struct trust *t, size_t n)
{
	static const struct table_column columns[] = {
		{"STATE", .keep = true}, {"SINCE", .keep = true}, {"SHA256"}, {"PROJECT"}};
	cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++) {
		time_t since = (time_t)t[i].since;
		const char *state = standing(&t[i]);
		char when[32] = "";
		struct tm tm;

		if (localtime_r(&since, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		table_styled(table, streq(state, "trusted") ? STYLE_GREEN : STYLE_YELLOW, state);
		table_cell(table, when);
		table_cellf(table, "%.12s", t[i].sha256);
		table_cell(table, t[i].project);
	}
	table_print(table, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int list(struct cli *cli, bool json)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *dir = NULL;
	struct trust *all = NULL;
	size_t n = 0;
	int r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	dir = path_join(p.state, "trust");
	r = trust_list(dir, &all, &n, &cli->err);
	if (r < 0)
		return r;
	if (json)
		list_json(all, n);
	else if (n)
		list_table(cli, all, n);
	trust_list_free(all, n);
	return 0;
}

static int cmd_trust_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct trust_args *args = args_;
	const char *path = argc ? argv[0] : NULL;

	if (args->list && (args->revoke || path))
		return cli_usage(cli, "--list stands alone");
	if (args->json && !args->list)
		return cli_usage(cli, "--json belongs to --list");
	if (args->list)
		return list(cli, args->json);
	return args->revoke ? revoke_trust(cli, path) : trust_project(cli, path);
}

const struct command cmd_trust = {
	.name = "trust",
	.operands = "[PATH]",
	.summary = "let a project file widen what you allow",
	.details =
		"A project's .ralph/config.yaml may only tighten your settings. This shows what\n"
		"it asks for beyond them, and records the exact content when you agree; once it\n"
		"changes, it has to be agreed to again.",
	.group = GROUP_CONFIG,
	.flags = CMD_CONFIG,
	OPTIONS(trust_opts, struct trust_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_trust_run,
};
