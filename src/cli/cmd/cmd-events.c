#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "view/event-text.h"
#include "view/log-view.h"
#include "cli/net-common.h"
#include "cli/since.h"
#include "events/events-verify.h"
#include "record/store.h"

struct events_args {
	bool follow, all, json;
	const char *since;
	struct strv types;
};

#define AT(member) offsetof(struct events_args, member)

static const struct opt events_opts[] = {
	{"follow", 'f', OPT_BOOL, AT(follow), NULL, "wait for more until interrupted"},
	{"type", 't', OPT_STRV, AT(types), "TYPE",
	 "only these: net, exec, loop (and all that begin with loop-) …"},
	{"all", 'a', OPT_BOOL, AT(all), NULL, "those of the self-test as well"},
	{"since", 0, OPT_STR, AT(since), "TIME",
	 "only later ones: 10m (ago), 2026-01-31, 2026-01-31T12:00[:00][Z]"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the records as they are, one a line"},
};

struct shown {
	const struct strv *types;
	int64_t since_ms;
	bool all, json, color;
};

/* "exec" is exec, exec-end and exec-failed. */
static bool wanted(const struct strv *types, const char *type)
{
	for (size_t i = 0; i < types->n; i++) {
		size_t n = strlen(types->v[i]);

		if (strncmp(type, types->v[i], n) == 0 && (type[n] == '\0' || type[n] == '-'))
			return true;
	}
	return types->n == 0;
}

enum { W_ID = 6, W_TYPE = 14 };

static void print_event(const json_t *j, bool color)
{
	cleanup_free char *words = event_text(j), *type = term_escape(log_text(j, "type"));
	enum term_style style = event_style(j);
	char when[LOG_TIME_SIZE];

	log_time(j, when);
	(void)printf("%*lld  %s%s%s  ", W_ID, log_number(j, "seq"), term_on(color, STYLE_DIM), when,
		     term_off(color));
	(void)printf("%s%-*s%s", term_on(color && style, style), words[0] ? W_TYPE : 0, type,
		     term_off(color && style));
	(void)fputs(words[0] ? "  " : "", stdout);
	term_puts(stdout, words);
	(void)putchar('\n');
}

static int on_line(void *arg, const struct events_line *l)
{
	const struct shown *sh = arg;
	cleanup_json json_t *j = json_loads(l->text, 0, NULL);

	if (!j || !wanted(sh->types, log_text(j, "type")) ||
	    (sh->since_ms && log_time_ms(log_text(j, "time")) < sh->since_ms) ||
	    (!sh->all && event_is_selftest(j)))
		return 0;
	if (sh->json)
		json_show_line(l->text, stdout);
	else
		print_event(j, sh->color);
	return 0;
}

static int show(struct cli *cli, const struct events_args *args, const char *dir)
{
	struct shown sh = {
		.types = &args->types,
		.all = args->all || args->json,
		.json = args->json,
		.color = cli_color(cli, STDOUT_FILENO),
	};
	int r = args->since ? since_parse(args->since, &sh.since_ms, &cli->err) : 0;

	return r < 0 ? r : log_view(dir, args->follow, on_line, &sh, &cli->err);
}

static void print_verdict_json(const char *name, const struct verify *v)
{
	cleanup_json json_t *j = json_pack("{ss sb sI sI sI}", "sandbox", name, "whole", !v->broken,
					   "records", (json_int_t)v->records, "first",
					   (json_int_t)v->first, "last", (json_int_t)v->last.seq);

	if (v->broken) {
		(void)json_object_set_new(j, "record", json_integer((json_int_t)v->at));
		(void)json_object_set_new(j, "where", json_string(v->where));
		(void)json_object_set_new(j, "how", json_string(v->how));
	} else {
		(void)json_object_set_new(j, "chain", json_string(v->last.hash));
	}
	if (v->notes)
		(void)json_object_set_new(j, "note", json_string(v->note));
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void print_verdict(const char *name, const struct verify *v, bool color)
{
	if (v->broken) {
		(void)printf("%s: %sbroken%s at record %llu (%s): %s\n", name,
			     term_on(color, STYLE_RED), term_off(color), (unsigned long long)v->at,
			     v->where, v->how);
	} else {
		(void)printf("%s: %swhole%s, %llu records", name, term_on(color, STYLE_GREEN),
			     term_off(color), (unsigned long long)v->records);
		if (v->first > 1)
			(void)printf(" (those before %llu were dropped when the log had grown)",
				     (unsigned long long)v->first);
		(void)putchar('\n');
		if (v->records)
			(void)printf("  last: %llu %s\n", (unsigned long long)v->last.seq,
				     v->last.hash);
	}
	if (v->notes)
		term_line(stdout, "  note: %s", v->note);
}

static int verify(struct cli *cli, const struct events_args *args, int dirfd, const char *name)
{
	struct verify v;
	int r = events_verify(dirfd, &v, &cli->err);

	verify_done(&v);
	if (r < 0)
		return r;
	if (args->json)
		print_verdict_json(name, &v);
	else
		print_verdict(name, &v, cli_color(cli, STDOUT_FILENO));
	return v.broken ? 1 : 0;
}

static int cmd_events_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct events_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *name = NULL, *dir = NULL;
	cleanup_fd int kept = -1;
	bool check = argc > 0 && cli->dashdash != 0 && streq(argv[0], "verify");
	int r;

	argc -= check;
	argv += check;
	if (argc > 1)
		return cli_usage(cli, "too many operands");
	if (check && (args->follow || args->since || args->types.n))
		return cli_usage(cli, "verify reads the whole log; it takes --json only");
	/* A path is a log that was kept when its sandbox was removed. */
	if (argc && strchr(argv[0], '/')) {
		kept = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (kept < 0)
			return err_sys(&cli->err, errno, "cannot open the log '%s'", argv[0]);
		return check ? verify(cli, args, kept, argv[0]) : show(cli, args, argv[0]);
	}
	r = places_find(&p, &cli->err);
	if (r == 0)
		r = net_record(cli, &p, argc ? argv[0] : NULL, &name);
	if (r == 0)
		r = store_open(&p, name, false, &e, &cli->err);
	if (r < 0)
		return r;
	if (check)
		return verify(cli, args, e.dir, name);
	dir = xasprintf("%s/sandboxes/%s", p.state, name);
	return show(cli, args, dir);
}

static const char *const words[] = {"verify", NULL};

const struct command cmd_events = {
	.name = "events",
	.operands = "[verify] [NAME|PATH]",
	.summary = "show what happened in a sandbox, or prove that its log is whole",
	.details =
		"One line for each event: its number (see ralph help why), when, its type and\n"
		"what it says. Without a NAME, those of the current workspace's sandbox; a PATH\n"
		"is a log that a loop has kept when its sandbox was removed.\n"
		"verify exits with 1 when a record was changed, dropped, put in or moved, or\n"
		"the end was cut off, and names the first that is wrong.",
	.group = GROUP_MANAGE,
	.flags = CMD_CONFIG,
	OPTIONS(events_opts, struct events_args),
	.max_operands = 2,
	.complete = COMPLETE_SANDBOX,
	.words = words,
	.run = cmd_events_run,
};
