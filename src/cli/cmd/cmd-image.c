#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text/human.h"
#include "cli/show/image-show.h"
#include "cli/settings.h"
#include "base/text/table.h"
#include "engine/engine.h"
#include "spec/host-env.h"
#include "image/image-store.h"

extern char **environ;

/* The state that every image command loads first. */
struct image_cli {
	struct settings settings;
	char *here;	      /* the project: the current directory */
	struct strv env;      /* for the engines' programs */
	struct strv programs; /* that have images, of those the setting stands for */
};

static void image_cli_done(struct image_cli *c)
{
	settings_done(&c->settings);
	free(c->here);
	strv_done(&c->env);
	strv_done(&c->programs);
}

#define cleanup_image_cli cleanup_(image_cli_done)

static int begin(struct cli *cli, struct image_cli *ret)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = spec_new();
	int r = settings_load(cli, NULL, &ret->settings);

	if (r == 0)
		r = path_real(".", &ret->here, &cli->err);
	if (r < 0)
		return r;
	/* An agent may have left a program called docker in the project. */
	(void)spec_mount_add(spec, SPEC_BIND_RW, ret->here, ret->here, "workspace");
	host_environ(spec, environ, &ret->env);
	engine_image_programs(ret->settings.config->engine, &ret->programs);
	return 0;
}

/* The first of them that answers. */
static int find_engine(struct cli *cli, const struct image_cli *c, const char **ret)
{
	struct err first = {0};
	int r = 0;

	for (size_t i = 0; i < c->programs.n; i++) {
		cleanup_(image_tool_done) struct image_tool t = {0};

		r = image_tool_find(c->programs.v[i], c->env.v, &t, &cli->err);
		if (r == 0)
			r = image_tool_probe(&t, &cli->err);
		if (r == 0) {
			*ret = c->programs.v[i];
			return 0;
		}
		if (!first.msg[0])
			first = cli->err;
	}
	cli->err = first;
	return err_hint(&cli->err, r, "images need docker or podman; choose one with --engine");
}

struct build_args {
	bool rebuild;
};

static const struct opt build_opts[] = {
	{"rebuild", 0, OPT_BOOL, offsetof(struct build_args, rebuild), NULL,
	 "pull the base again and build anew, whatever is there"},
	{"base", 0, OPT_STR, 0, "IMAGE", "what the image begins with", .key = "image.base"},
};

static void print_view(const struct image_view *v)
{
	(void)printf("image:       %s\n", v->ref ? v->ref : "not known until its base is here");
	(void)fputs("dockerfile:  ", stdout);
	term_puts(stdout, v->dockerfile);
	(void)printf("%s\n", v->trusted ? "" : " (not trusted: ralph trust)");
	for (size_t i = 0; i < v->bases.n; i++)
		term_line(stdout, "base:        %s%s", v->bases.v[i],
			  v->stale ? " (would be pulled)" : "");
	(void)printf("would be:    %s\n", v->there && !v->stale ? "used as it is" : "built");
}

static int unknown_agent(struct cli *cli, const char *name)
{
	cleanup_free char *all = agent_names();

	return cli_usage(cli, "'%s' is no agent; there are: %s", name, all);
}

static int cmd_build_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct build_args *args = args_;
	cleanup_image_cli struct image_cli c = {0};
	cleanup_image_show struct image_show show = {0};
	cleanup_image_view struct image_view view = {0};
	cleanup_free char *ref = NULL;
	struct image_request req = {
		.rebuild = args->rebuild, .told = image_show_step, .arg = &show};
	int r;

	if (argc && !agent_find(argv[0]))
		return unknown_agent(cli, argv[0]);
	r = begin(cli, &c);
	if (r == 0)
		r = find_engine(cli, &c, &req.engine);
	if (r < 0)
		return r;
	image_show_init(&show);
	req.places = &c.settings.places;
	req.agent = argc ? argv[0] : c.settings.config->agent;
	req.workspace = c.here;
	req.base = c.settings.config->image.base;
	req.environ = c.env.v;
	if (cli->dry_run) {
		r = image_look(&req, &view, &cli->err);
		if (r == 0)
			print_view(&view);
		return r;
	}
	r = image_ensure(&req, &ref, &cli->err);
	image_show_done(&show);
	if (r == 0)
		(void)puts(ref);
	return r;
}

static const struct command cmd_image_build = {
	.name = "build",
	.operands = "[AGENT]",
	.summary = "build an agent's image if it is not there, and print its name",
	.flags = CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(build_opts, struct build_args),
	.max_operands = 1,
	.words = agent_words,
	.run = cmd_build_run,
};

/* Every engine that is there; one that was named has to answer. */
static int list_all(struct cli *cli, const struct image_cli *c, struct image_rows *rows)
{
	bool named = c->programs.n == 1;

	for (size_t i = 0; i < c->programs.n; i++) {
		cleanup_(image_tool_done) struct image_tool t = {0};
		struct err err = {0};
		int r = image_tool_find(c->programs.v[i], c->env.v, &t, &err);
		bool missing = r == -ENOENT;

		if (r == 0)
			r = image_store_list(&c->settings.places, &t, rows, &err);
		if (r < 0 && named) {
			cli->err = err;
			return r;
		}
		if (r < 0 && !missing)
			log_info("image", "%s, ignoring its images", err.msg);
	}
	return 0;
}

struct ls_args {
	bool json;
};

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct ls_args, json), NULL, "print JSON"},
};

static json_t *row_json(const struct image_row *row)
{
	return json_pack("{so ss ss so so so sI sI sb sb}", "image", json_text(row->ref), "engine",
			 row->engine, "id", row->id, "agent",
			 row->agent ? json_text(row->agent) : json_null(), "project",
			 row->project ? json_text(row->project) : json_null(), "bases",
			 row->bases ? json_text(row->bases) : json_null(), "created",
			 (json_int_t)row->created, "size", (json_int_t)row->size, "ours", row->ours,
			 "used", !row->why);
}

static void print_rows(struct cli *cli, const struct image_rows *rows)
{
	static const struct table_column columns[] = {{"IMAGE"},
						      {"ENGINE", .keep = true},
						      {"AGE", .right = true, .keep = true},
						      {"SIZE", .right = true, .keep = true},
						      {"STATE", .keep = true},
						      {"DOCKERFILE"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	uint64_t now = (uint64_t)time(NULL);

	for (size_t i = 0; i < rows->n; i++) {
		const struct image_row *row = &rows->v[i];
		cleanup_free char *age = human_span(now > row->created ? now - row->created : 0);
		cleanup_free char *size = human_size(row->size);

		table_cell(t, row->ref);
		table_cell(t, row->engine);
		table_cell(t, age);
		table_cell(t, size);
		table_styled(t, row->why ? STYLE_DIM : STYLE_GREEN, row->why ? "old" : "used");
		table_cell(t, row->project ? row->project : "ralph's");
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ls_args *args = args_;
	cleanup_image_cli struct image_cli c = {0};
	cleanup_image_rows struct image_rows rows = {0};
	int r = begin(cli, &c);

	if (r == 0)
		r = list_all(cli, &c, &rows);
	if (r < 0)
		return r;
	if (args->json) {
		cleanup_json json_t *j = json_array();

		for (size_t i = 0; i < rows.n; i++)
			(void)json_array_append_new(j, row_json(&rows.v[i]));
		(void)json_show(j, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else if (rows.n) {
		print_rows(cli, &rows);
	}
	return 0;
}

static const struct command cmd_image_ls = {
	.name = "ls",
	.summary = "list the images that ralph built",
	.flags = CMD_CONFIG,
	OPTIONS(ls_opts, struct ls_args),
	.run = cmd_ls_run,
};

struct prune_args {
	bool dry_run;
};

static const struct opt prune_opts[] = {
	{"dry-run", 'n', OPT_BOOL, offsetof(struct prune_args, dry_run), NULL,
	 "say what would be removed, and remove nothing"},
};

/* 0, or -EBUSY where a container needs it. */
static int prune_one(const struct image_cli *c, const struct image_row *row, bool dry,
		     struct err *err)
{
	cleanup_(image_tool_done) struct image_tool t = {0};
	int r = dry ? 0 : image_tool_find(row->engine, c->env.v, &t, err);

	if (r == 0 && !dry)
		r = image_store_remove(&t, row->ref, err);
	if (r < 0)
		return r;
	(void)printf("%s %s (%s): ", dry ? "would remove" : "removed", row->ref, row->engine);
	term_puts(stdout, row->why);
	(void)putchar('\n');
	return 0;
}

static int cmd_prune_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct prune_args *args = args_;
	cleanup_image_cli struct image_cli c = {0};
	cleanup_image_rows struct image_rows rows = {0};
	int r = begin(cli, &c), failed = 0;

	if (r == 0)
		r = list_all(cli, &c, &rows);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rows.n; i++) {
		struct err err = {0};

		if (!rows.v[i].why || !rows.v[i].ours)
			continue;
		r = prune_one(&c, &rows.v[i], args->dry_run || cli->dry_run, &err);
		if (r == -EBUSY)
			log_info("image", "%s stays: a container needs it", rows.v[i].ref);
		else if (r < 0) {
			log_error("image", "%s: %s", rows.v[i].ref, err.msg);
			failed++;
		}
	}
	return failed ? EXIT_RUNTIME : 0;
}

static const struct command cmd_image_prune = {
	.name = "prune",
	.summary = "remove images that no Dockerfile comes to any more",
	.flags = CMD_CONFIG | CMD_DRY_RUN,
	OPTIONS(prune_opts, struct prune_args),
	.run = cmd_prune_run,
};

static const struct command *const image_subs[] = {
	&cmd_image_ls,
	&cmd_image_build,
	&cmd_image_prune,
	NULL,
};

const struct command cmd_image = {
	.name = "image",
	.summary = "list, build and remove images for containers",
	.group = GROUP_MANAGE,
	.subs = image_subs,
};
