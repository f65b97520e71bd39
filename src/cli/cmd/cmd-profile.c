#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "cli/settings.h"
#include "base/text/table.h"
#include "config/profile.h"

struct json_args {
	bool json;
};

struct ls_args {
	bool json, quiet;
};

struct new_args {
	const char *from;
};

static const struct opt json_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct json_args, json), NULL, "print JSON"},
};

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct ls_args, json), NULL, "print JSON"},
	{"quiet", 'q', OPT_BOOL, offsetof(struct ls_args, quiet), NULL, "print names only"},
};

static const struct opt new_opts[] = {
	{"from", 0, OPT_STR, offsetof(struct new_args, from), "PROFILE",
	 "copy this one instead of a list of all keys", .complete = COMPLETE_PROFILE},
};

static struct profile_dirs dirs_of(const struct settings_sources *from)
{
	return (struct profile_dirs){from->profiles, from->shipped};
}

static void ls_json(const struct profile *p, size_t n)
{
	cleanup_json json_t *rows = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(rows, json_pack("{ss ss so so}", "name", p[i].name,
							    "from", p[i].shipped ? "ralph" : "user",
							    "summary", json_text(p[i].summary),
							    "path", json_text(p[i].path)));
	(void)json_show(rows, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void ls_table(struct cli *cli, const struct profile *p, size_t n)
{
	static const struct table_column columns[] = {
		{"NAME", .keep = true}, {"FROM", .keep = true}, {"FOR"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++) {
		table_cell(t, p[i].name);
		table_styled(t, p[i].shipped ? STYLE_DIM : STYLE_CYAN,
			     p[i].shipped ? "ralph" : "you");
		table_cell(t, p[i].summary);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ls_args *args = args_;
	cleanup_sources struct settings_sources from = {0};
	struct profile *list = NULL;
	struct profile_dirs dirs;
	size_t n = 0;
	int r = settings_sources_find(cli, NULL, &from);

	if (r < 0)
		return r;
	dirs = dirs_of(&from);
	r = profile_list(&dirs, &list, &n, &cli->err);
	if (r < 0)
		return r;
	if (args->json)
		ls_json(list, n);
	else if (args->quiet)
		for (size_t i = 0; i < n; i++)
			(void)puts(list[i].name);
	else
		ls_table(cli, list, n);
	profile_list_free(list, n);
	return 0;
}

static const struct command cmd_profile_ls = {
	.name = "ls",
	.summary = "list the profiles",
	OPTIONS(ls_opts, struct ls_args),
	.run = cmd_ls_run,
};

/* Loads the profile alone, over nothing but the defaults, and returns its settings. */
static int settings_json(const struct settings_sources *from, const char *name, json_t **ret,
			 struct err *err)
{
	cleanup_(config_freep) struct config *c = NULL;
	cleanup_strv struct strv flags = {0};
	struct config_sources src = {
		.profile_dir = from->profiles,
		.shipped_dir = from->shipped,
		.home = from->places.home,
		.flags = &flags,
	};
	struct config_entry *e = NULL;
	size_t n = 0;
	int r;

	strv_pushf(&flags, "profile=%s", name);
	r = config_load(&src, &c, err);
	if (r == 0)
		r = config_entries(c, &e, &n);
	if (r < 0)
		return r;
	*ret = json_object();
	for (size_t i = 0; i < n; i++)
		if (!streq(e[i].origin, "default") && !streq(e[i].key, "profile"))
			(void)json_object_set_new(*ret, e[i].key, json_text(e[i].value));
	config_entries_free(e, n);
	return 0;
}

static int show_json(struct cli *cli, const struct settings_sources *from, const char *name,
		     const char *path)
{
	cleanup_json json_t *j = NULL, *settings = NULL;
	int r = settings_json(from, name, &settings, &cli->err);

	if (r < 0)
		return r;
	j = json_pack("{ss so sO}", "name", name, "path", json_text(path), "settings", settings);
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	return 0;
}

static int cmd_show_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct json_args *args = args_;
	cleanup_sources struct settings_sources from = {0};
	cleanup_free char *path = NULL;
	cleanup_buf struct buf text;
	struct profile_dirs dirs;
	int r = settings_sources_find(cli, NULL, &from);

	buf_init(&text, CONFIG_FILE_MAX);
	if (r < 0)
		return r;
	dirs = dirs_of(&from);
	r = profile_read(&dirs, argv[0], &path, &text, &cli->err);
	if (r < 0)
		return r;
	if (args->json)
		return show_json(cli, &from, argv[0], path);
	(void)fwrite(buf_str(&text), 1, text.len, stdout);
	return 0;
}

static const struct command cmd_profile_show = {
	.name = "show",
	.operands = "NAME",
	.summary = "print a profile with its comments",
	OPTIONS(json_opts, struct json_args),
	.min_operands = 1,
	.max_operands = 1,
	.complete = COMPLETE_PROFILE,
	.run = cmd_show_run,
};

static int cmd_new_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct new_args *args = args_;
	cleanup_sources struct settings_sources from = {0};
	cleanup_free char *path = NULL, *source = NULL, *template = NULL;
	cleanup_buf struct buf text;
	struct profile_dirs dirs;
	int r = settings_sources_find(cli, NULL, &from);

	buf_init(&text, CONFIG_FILE_MAX);
	if (r < 0)
		return r;
	dirs = dirs_of(&from);
	if (args->from) {
		r = profile_read(&dirs, args->from, &source, &text, &cli->err);
	} else {
		template = profile_template(argv[0]);
		(void)buf_puts(&text, template);
	}
	if (r == 0)
		r = profile_create(from.profiles, argv[0], buf_str(&text), text.len, &path,
				   &cli->err);
	if (r < 0)
		return r;
	(void)puts(path);
	return 0;
}

static const struct command cmd_profile_new = {
	.name = "new",
	.operands = "NAME",
	.summary = "make a profile of your own, and print where it is",
	.details = "It holds every key with its default, commented out, or a copy of the profile\n"
		   "that --from names. A profile of the name of one that comes with ralph takes\n"
		   "its place.",
	OPTIONS(new_opts, struct new_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_new_run,
};

static const struct command *const profile_subs[] = {
	&cmd_profile_ls,
	&cmd_profile_show,
	&cmd_profile_new,
	NULL,
};

const struct command cmd_profile = {
	.name = "profile",
	.summary = "list, show and make profiles",
	.group = GROUP_CONFIG,
	.subs = profile_subs,
};
