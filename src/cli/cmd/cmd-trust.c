#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cli/terminal/ask.h"
#include "cli/settings.h"
#include "base/text/table.h"
#include "cli/project-trust.h"
#include "config/trust.h"
#include "image/dockerfile.h"
#include "image/image-source.h"

struct trust_args {
	bool list, revoke, json;
};

#define AT(member) offsetof(struct trust_args, member)

static const struct opt trust_opts[] = {
	{"list", 'l', OPT_BOOL, AT(list), NULL, "list what is trusted"},
	{"revoke", 0, OPT_BOOL, AT(revoke), NULL, "trust the project file no more"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the list as JSON"},
};

/* Asks the user to agree to what was just shown. */
static int confirm(struct cli *cli)
{
	bool yes = cli->yes;
	int r = 0;

	if (!yes && !ask_possible())
		return err_usage(&cli->err,
				 "there is no terminal to ask on; if you agree, add --yes");
	if (!yes)
		r = ask("Trust exactly this content?", false, &yes, &cli->err);
	if (r == 0 && !yes)
		r = err_set(&cli->err, ECANCELED, "not confirmed: it is not trusted");
	return r;
}

static int record(struct cli *cli, const struct settings_sources *from, struct trust_state *t)
{
	int r = trust_show(cli, &from->src, t);

	if (r == 0)
		r = confirm(cli);
	if (r < 0)
		return r;
	r = trust_set(t->dir, t->project, buf_str(&t->text), t->text.len, &cli->err);
	if (r == 0)
		term_line(stdout, "%s is trusted as it is now", from->project);
	return r;
}

/* -ENOENT: the project has none. */
static int trust_image(struct cli *cli, const struct places *p, const char *path)
{
	cleanup_image_source struct image_source s = IMAGE_SOURCE_INIT;
	struct dockerfile file = {0};
	int r = image_source_project(p, path, &s, &cli->err);

	if (r < 0)
		return r;
	if (s.trusted) {
		term_line(stdout, "%s is trusted already", s.dockerfile);
		return 0;
	}
	/*
	 * A Dockerfile that cannot be built, or cannot be shown as it is, is an error, not a
	 * question.
	 */
	r = dockerfile_read(buf_str(&s.text), s.text.len, NULL, &file, &cli->err);
	dockerfile_done(&file);
	if (r < 0)
		return err_wrap(&cli->err, r, "%s", s.dockerfile);
	trust_show_image(cli, &s);
	r = confirm(cli);
	if (r == 0)
		r = image_source_trust(p, &s, &cli->err);
	if (r == 0)
		term_line(stdout, "%s is trusted as it is now", s.dockerfile);
	return r;
}

static int trust_settings(struct cli *cli, const struct settings_sources *from,
			  struct trust_state *t)
{
	if (t->n_widenings == 0)
		term_line(stdout, "%s only tightens: it needs no trust", from->project);
	else if (t->trusted)
		term_line(stdout, "%s is trusted already", from->project);
	else
		return record(cli, from, t);
	return 0;
}

static int trust_project(struct cli *cli, const char *path)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_trust struct trust_state t = {0};
	int r = settings_sources_find(cli, path, &from), image;

	if (r == 0)
		r = trust_look(&from.places, &from.src, &t, &cli->err);
	if (r == 0 && t.project)
		r = trust_settings(cli, &from, &t);
	if (r < 0)
		return r;
	image = trust_image(cli, &from.places, path ? path : ".");
	if (image == -ENOENT && !t.project)
		return err_usage(&cli->err, "there is no project file at %s; nothing to trust",
				 from.project);
	return image == -ENOENT ? 0 : image;
}

static int revoke_trust(struct cli *cli, const char *path)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_free char *dir = NULL, *images = NULL, *project = NULL;
	int r = settings_sources_find(cli, path, &from), image;

	if (r < 0)
		return r;
	dir = path_join(from.places.state, "trust");
	/* A project that is gone can still be named as the list does. */
	if (path_real(path ? path : ".", &project, &cli->err) < 0)
		project = xstrdup(path ? path : ".");
	images = image_trust_dir(&from.places);
	r = trust_revoke(dir, project, &cli->err);
	image = trust_revoke(images, project, &cli->err);
	if (r == -ENOENT && image == 0)
		return 0;
	if (r == 0 && image != -ENOENT)
		return image;
	if (r == -ENOENT)
		return err_usage(&cli->err,
				 "'%s' is not trusted; 'ralph trust --list' lists what is",
				 project);
	return r;
}

/* Does the record still hold what is there? */
static const char *standing_of_settings(const struct trust *t)
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

static const char *standing_of_image(const struct places *p, const struct trust *t)
{
	cleanup_image_source struct image_source s = IMAGE_SOURCE_INIT;
	struct err ignored = {0};
	int r = image_source_project(p, t->project, &s, &ignored);

	if (r == -ENOENT)
		return "gone";
	return r == 0 && s.trusted ? "trusted" : "changed";
}

/* The records of one directory; image: those of Dockerfiles. */
struct records {
	const struct places *places;
	bool image;
	struct trust *v;
	size_t n;
};

static const char *what(const struct records *from)
{
	return from->image ? "image" : "settings";
}

static const char *standing(const struct records *from, const struct trust *t)
{
	return from->image ? standing_of_image(from->places, t) : standing_of_settings(t);
}

static void add_json(json_t *rows, const struct records *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct trust *t = &from->v[i];

		(void)json_array_append_new(
			rows, json_pack("{so ss ss sI ss}", "project", json_text(t->project),
					"what", what(from), "sha256", t->sha256, "since",
					(json_int_t)t->since, "state", standing(from, t)));
	}
}

static void add_rows(struct table *table, const struct records *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct trust *t = &from->v[i];
		time_t since = (time_t)t->since;
		const char *state = standing(from, t);
		char when[32] = "";
		struct tm tm;

		if (localtime_r(&since, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		table_styled(table, streq(state, "trusted") ? STYLE_GREEN : STYLE_YELLOW, state);
		table_cell(table, when);
		table_cell(table, what(from));
		table_cellf(table, "%.12s", t->sha256);
		table_cell(table, t->project);
	}
}

static void print_list(struct cli *cli, const struct records *from, size_t n, bool json)
{
	static const struct table_column columns[] = {{"STATE", .keep = true},
						      {"SINCE", .keep = true},
						      {"WHAT", .keep = true},
						      {"SHA256"},
						      {"PROJECT"}};
	cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	cleanup_json json_t *rows = json_array();
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		all += from[i].n;
		if (json)
			add_json(rows, &from[i]);
		else
			add_rows(table, &from[i]);
	}
	if (json) {
		(void)json_show(rows, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else if (all) {
		table_print(table, stdout, term_width(STDOUT_FILENO),
			    cli_color(cli, STDOUT_FILENO));
	}
}

static int list(struct cli *cli, bool json)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *settings = NULL, *images = NULL;
	struct records from[] = {{.places = &p}, {.places = &p, .image = true}};
	int r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	settings = path_join(p.state, "trust");
	images = image_trust_dir(&p);
	r = trust_list(settings, &from[0].v, &from[0].n, &cli->err);
	if (r == 0)
		r = trust_list(images, &from[1].v, &from[1].n, &cli->err);
	if (r == 0)
		print_list(cli, from, ARRAY_SIZE(from), json);
	trust_list_free(from[0].v, from[0].n);
	trust_list_free(from[1].v, from[1].n);
	return r;
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
		"changes, it has to be agreed to again. So it is with its .ralph/Dockerfile.",
	.group = GROUP_CONFIG,
	.flags = CMD_CONFIG,
	OPTIONS(trust_opts, struct trust_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_trust_run,
};
