#include "cli/frame/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/suggest.h"
#include "build-config.h"
#include "cli/frame/help.h"

#define CANDIDATES_MAX 128

#define AT(member) offsetof(struct cli, member)

static const char *const color_words[] = {"auto", "always", "never", NULL};
static const char *const level_words[] = {"error", "warning", "info", "debug", NULL};
static const char *const format_words[] = {"text", "json", NULL};

/* clang-format off */
const struct opt global_opts[] = {
	{"dry-run", 0, OPT_BOOL, AT(dry_run), NULL, "print the plan and start nothing", .needs = CMD_DRY_RUN},
	{"yes", 'y', OPT_BOOL, AT(yes), NULL, "do not ask for confirmation"},
	{"profile", 'p', OPT_STR, 0, "NAME", "profile to load", .key = "profile", .needs = CMD_CONFIG,
	 .complete = COMPLETE_PROFILE},
	{"engine", 0, OPT_STR, 0, "NAME", "what makes the sandbox", .key = "engine", .needs = CMD_CONFIG,
	 .complete = COMPLETE_ENGINE},
	{"docker", 0, OPT_STR, 0, NULL,
	 "the same as --engine docker; keys of AWS that are given as variables (way env) last as long as their SSO session",
	 .key = "engine", .value = "docker",
	 .needs = CMD_CONFIG},
	{"sandbox", 0, OPT_BOOL, AT(sandbox), NULL, "only in a sandbox, as without this option", .needs = CMD_CONFIG},
	{"no-sandbox", 0, OPT_BOOL, AT(no_sandbox), NULL, "no sandbox at all: an agent with a blocklist",
	 .needs = CMD_DIRECT},
	{"log-level", 0, OPT_CHOICE, 0, "LEVEL", "how much to log", .key = "log.level", .choices = level_words},
	{"log-format", 0, OPT_CHOICE, 0, "FORMAT", "how log lines are written", .key = "log.format",
	 .choices = format_words},
	{"color", 0, OPT_CHOICE, AT(color), "WHEN", "colour in the output", .choices = color_words, .def = "auto"},
	{"no-color", 0, OPT_CHOICE, AT(color), NULL, "the same as --color never", .choices = color_words,
	 .value = "never"},
	{"help", 'h', OPT_BOOL, AT(help), NULL, "show help and exit"},
	{"version", 'V', OPT_BOOL, AT(version), NULL, "show the version and exit"},
	{"dump-options", 0, OPT_BOOL, AT(dump_options), NULL, "list every option of every command",
	 .flags = OPT_HIDDEN},
};
/* clang-format on */
const size_t n_global_opts = ARRAY_SIZE(global_opts);

int cli_usage(struct cli *cli, const char *fmt, ...)
{
	cleanup_free char *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	msg = xvasprintf(fmt, ap);
	va_end(ap);
	cli->show_usage = true;
	return err_usage(&cli->err, "%s", msg);
}

bool cli_color(const struct cli *cli, int fd)
{
	if (streq(cli->color, "always"))
		return true;
	return term_use_color(fd, streq(cli->color, "never") ? TERM_NEVER : TERM_AUTO);
}

static bool is_named(const struct command *c, const char *name)
{
	if (streq(c->name, name))
		return true;
	for (const char *const *a = c->aliases; a && *a; a++)
		if (streq(*a, name))
			return true;
	return false;
}

const struct command *command_find(const struct command *const *cmds, const char *name)
{
	for (; *cmds; cmds++)
		if (is_named(*cmds, name))
			return *cmds;
	return NULL;
}

static int unknown_command(const struct command *const *cmds, const char *parent, const char *name,
			   struct err *err)
{
	const char *candidates[CANDIDATES_MAX];
	const char *near;
	size_t n = 0;

	for (; *cmds; cmds++) {
		if ((*cmds)->flags & CMD_HIDDEN)
			continue;
		if (n < CANDIDATES_MAX)
			candidates[n++] = (*cmds)->name;
		for (const char *const *a = (*cmds)->aliases; a && *a && n < CANDIDATES_MAX; a++)
			candidates[n++] = *a;
	}
	near = suggest(name, candidates, n);
	if (near)
		return err_usage(err, "unknown command '%s%s'; did you mean '%s'?", parent, name,
				 near);
	return err_usage(err, "unknown command '%s%s'; 'ralph help' lists what there is", parent,
			 name);
}

int command_lookup(const struct command *const *cmds, int n, char *const *words, int *used,
		   const struct command **ret, struct err *err)
{
	const struct command *c = command_find(cmds, words[0]);

	*used = 1;
	if (!c)
		return unknown_command(cmds, "", words[0], err);
	if (c->subs && n > 1) {
		cleanup_free char *parent = xasprintf("%s ", c->name);
		const struct command *sub = command_find(c->subs, words[1]);

		*used = 2;
		if (!sub)
			return unknown_command(c->subs, parent, words[1], err);
		c = sub;
	}
	*ret = c;
	return 0;
}

/* One run of ralph: the global state and what is known of the command so far. */
struct dispatch {
	const struct command *const *cmds;
	struct cli cli;
	struct opt_set global;
	char name[64];	 /* "config show", for errors and usage */
	char prefix[32]; /* "config ": the words before its own name */
};

/*
 * The options before the command. Which of them apply is known only with the command, so they are
 * read twice: first to find it, then, with `have`, for good. Returns how many words they took.
 */
static int parse_leading(struct dispatch *d, unsigned have, int argc, char **argv)
{
	cleanup_free char **words = xcalloc((size_t)argc + 1, sizeof(*words));
	struct opt_sink sink = {
		.sets = &d->global,
		.n_sets = 1,
		.config = &d->cli.config,
		.have = have,
		.posix = true,
		.notices = &d->cli.notices,
	};
	int left = argc;
	int r;

	memcpy(words, argv, (size_t)argc * sizeof(*words));
	r = opt_parse(&sink, &left, words, &d->cli.err);
	if (r < 0)
		return r;
	return argc - left;
}

/* The second reading must not find what the first one left. */
static void reset(struct dispatch *d)
{
	strv_done(&d->cli.config);
	strv_done(&d->cli.notices);
	d->cli = (struct cli){.dashdash = -1};
	strv_init(&d->cli.config);
	strv_init(&d->cli.notices);
	opt_init(&d->global);
}

static int check_operands(struct dispatch *d, const struct command *c, int argc, char **argv)
{
	if (argc < c->min_operands)
		return cli_usage(&d->cli, "missing operand");
	if (c->max_operands != OPERANDS_ANY && argc > c->max_operands)
		return cli_usage(&d->cli, "unexpected operand '%s'", argv[c->max_operands]);
	return 0;
}

/* The options that answer by themselves, wherever they stand. */
static bool answered(const struct dispatch *d)
{
	if (d->cli.version)
		(void)puts("ralph " RALPH_VERSION);
	else if (d->cli.dump_options)
		help_dump(d->cmds, stdout);
	return d->cli.version || d->cli.dump_options;
}

static void setup_log(const struct cli *cli)
{
	const char *level = strv_env_get(&cli->config, "log.level");
	const char *format = strv_env_get(&cli->config, "log.format");
	enum log_level max = LOG_INFO;

	if (level)
		(void)log_level_parse(level, &max);
	if (level || format)
		log_setup(max, format && streq(format, "json") ? LOG_JSON : LOG_TEXT);
}

static int parse_and_run(struct dispatch *d, const struct command *c, void *args, int argc,
			 char **argv)
{
	const struct opt_set sets[] = {
		{.opts = c->opts, .n = c->n_opts, .base = args},
		d->global,
	};
	struct opt_sink sink = {
		.sets = sets,
		.n_sets = ARRAY_SIZE(sets),
		.config = &d->cli.config,
		.have = c->flags,
		.posix = (c->flags & CMD_POSIX) || c->subs,
		.ends = c->ends,
		.dashdash = -1,
		.hint = c->flags & CMD_PASSTHROUGH
				? "options of the command to run go after '--' or after its name"
				: NULL,
		.notices = &d->cli.notices,
	};
	bool others = c->ends && !streq(d->cli.word, c->name);
	int r = others ? 0 : opt_parse(&sink, &argc, argv, &d->cli.err);

	if (r < 0)
		return r;
	if (answered(d))
		return 0;
	setup_log(&d->cli);
	for (size_t i = 0; i < d->cli.notices.n; i++)
		log_warn("cli", "%s", d->cli.notices.v[i]);
	d->cli.dashdash = sink.dashdash;
	if (d->cli.help) {
		help_command(c, d->prefix, stdout);
		return 0;
	}
	if (c->subs)
		return argc > 0 ? cli_usage(&d->cli, "unknown command '%s'", argv[0])
				: cli_usage(&d->cli, "which one? See 'ralph %s --help'", c->name);
	r = check_operands(d, c, argc, argv);
	return r < 0 ? r : c->run(&d->cli, args, argc, argv);
}

static int run_command(struct dispatch *d, const struct command *c, const char *word, int argc,
		       char **argv)
{
	cleanup_free void *args = xcalloc(1, c->args_size ? c->args_size : 1);
	struct opt_set own = {.opts = c->opts, .n = c->n_opts, .base = args};
	int r;

	d->cli.command = c;
	d->cli.name = d->name;
	d->cli.word = word;
	opt_init(&own);
	r = parse_and_run(d, c, args, argc, argv);
	opt_done(&own);
	return r;
}

/* argv[leading] names a command, and the word after it perhaps one below it. */
static int run_named(struct dispatch *d, int leading, int argc, char **argv)
{
	const struct command *top = command_find(d->cmds, argv[leading]);
	const struct command *c = NULL;
	int words = argc - leading;
	int used = 0;
	int r;

	/* An option behind "config" is not the name of a subcommand. */
	if (words > 1 && argv[leading + 1][0] == '-')
		words = 1;
	r = command_lookup(d->cmds, words, argv + leading, &used, &c, &d->cli.err);
	if (r < 0)
		return r;
	if (used > 1)
		(void)snprintf(d->prefix, sizeof(d->prefix), "%s ", top->name);
	(void)snprintf(d->name, sizeof(d->name), "%s%s", d->prefix, c->name);
	reset(d);
	d->cli.name = d->name;
	r = parse_leading(d, c->flags, leading, argv);
	if (r < 0)
		return r;
	return run_command(d, c, argv[leading + used - 1], argc - leading - used,
			   argv + leading + used);
}

static int dispatch(struct dispatch *d, int argc, char **argv)
{
	int leading;

	reset(d);
	leading = parse_leading(d, ~0U, argc, argv);
	if (leading < 0)
		return leading;
	if (answered(d))
		return 0;
	if (leading < argc)
		return run_named(d, leading, argc, argv);
	help_overview(d->cmds, d->cli.help, d->cli.help ? stdout : stderr);
	return d->cli.help ? EXIT_OK : EXIT_USAGE;
}

static int report(struct dispatch *d, int r)
{
	const struct command *c = d->cli.command;
	bool passthrough = c && (c->flags & CMD_PASSTHROUGH);
	const char *format = strv_env_get(&d->cli.config, "log.format");
	cleanup_free char *msg = NULL;

	if (d->cli.err.msg[0] == '\0')
		(void)err_sys(&d->cli.err, -r, "failed");
	/* File names and the like are in there; they must not act on the terminal. */
	msg = term_escape(d->cli.err.msg);
	if (d->name[0])
		log_error("cli", "%s: %s", d->name, msg);
	else
		log_error("cli", "%s", msg);
	/* A reader of JSON lines gets nothing else. */
	if (c && d->cli.show_usage && !(format && streq(format, "json")))
		help_usage(c, d->prefix, stderr);
	return err_exit_code(&d->cli.err, passthrough ? EXIT_RALPH : EXIT_RUNTIME);
}

int cli_main(const struct command *const *cmds, int argc, char **argv)
{
	struct dispatch d = {.cmds = cmds};
	int r;

	d.global = (struct opt_set){.opts = global_opts, .n = n_global_opts, .base = &d.cli};
	r = dispatch(&d, argc > 0 ? argc - 1 : 0, argv + (argc > 0));
	if (r < 0)
		r = report(&d, r);
	strv_done(&d.cli.config);
	strv_done(&d.cli.notices);
	return r;
}
