#include "cli/net-common.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json.h"
#include "view/event-text.h"
#include "view/log-view.h"
#include "cli/since.h"
#include "record/store.h"

struct log_args {
	bool follow, denied, all, json;
	const char *since;
};

#define AT(member) offsetof(struct log_args, member)

static const struct opt log_opts[] = {
	{"follow", 'f', OPT_BOOL, AT(follow), NULL, "wait for more until interrupted"},
	{"denied", 0, OPT_BOOL, AT(denied), NULL, "only what was refused"},
	{"all", 'a', OPT_BOOL, AT(all), NULL, "what the self-test asked for as well"},
	{"since", 0, OPT_STR, AT(since), "TIME",
	 "only later ones: 10m (ago), 2026-01-31, 2026-01-31T12:00[:00][Z]"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the records as they are, one a line"},
};

struct shown {
	int64_t since_ms;
	bool denied, all, json, color;
};

static char *bytes_text(long long n)
{
	static const char units[] = "BKMGT";
	double v = (double)n;
	size_t u = 0;

	while (v >= 1024 && u + 2 < sizeof(units)) {
		v /= 1024;
		u++;
	}
	return u ? xasprintf("%.1f%c", v, units[u]) : xasprintf("%lldB", n);
}

/* Method and path where a request was seen, else the bytes of a connection. */
static char *detail(const json_t *j)
{
	cleanup_free char *up = bytes_text(log_number(j, "up"));
	cleanup_free char *down = bytes_text(log_number(j, "down"));
	long long count = log_number(j, "count");

	if (log_text(j, "method")[0])
		return xasprintf("%s %s", log_text(j, "method"), log_text(j, "path"));
	if (count > 1)
		return xasprintf("%lld times", count);
	if (streq(log_text(j, "phase"), "open"))
		return xstrdup("opened");
	return log_number(j, "up") || log_number(j, "down") ? xasprintf("%s up %s down", up, down)
							    : xstrdup("-");
}

/* Fixed places instead of a table, since a line is shown when it comes. */
static void cell(const char *text, int width, bool color, enum term_style style)
{
	cleanup_free char *safe = term_escape(text);
	int columns = (int)term_columns(safe);

	(void)printf("%s%s%s%*s", term_on(color, style), safe, term_off(color && style),
		     columns < width ? width - columns + 2 : 2, "");
}

enum { W_TIME = 19, W_VERDICT = 7, W_VERB = 7, W_TARGET = 30, W_DETAIL = 22, W_MS = 6 };

static void print_head(bool color)
{
	cell("TIME", W_TIME, color, STYLE_BOLD);
	cell("VERDICT", W_VERDICT, color, STYLE_BOLD);
	cell("VERB", W_VERB, color, STYLE_BOLD);
	cell("TARGET", W_TARGET, color, STYLE_BOLD);
	cell("REQUEST OR BYTES", W_DETAIL, color, STYLE_BOLD);
	cell("    MS", W_MS, color, STYLE_BOLD);
	(void)printf("%sWHY%s\n", term_on(color, STYLE_BOLD), term_off(color));
}

static void print_record(const json_t *j, bool color)
{
	const char *verdict = log_text(j, "verdict"), *host = log_text(j, "host");
	const char *rule = log_text(j, "rule"), *reason = log_text(j, "reason");
	bool denied = streq(verdict, "deny"), allowed = streq(verdict, "allow");
	cleanup_free char *what = detail(j), *target = NULL, *ms = NULL;
	time_t s = (time_t)(log_number(j, "at_ms") / 1000);
	char when[32] = "-";
	struct tm tm;

	if (localtime_r(&s, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	target = log_number(j, "port") ? xasprintf(strchr(host, ':') ? "[%s]:%lld" : "%s:%lld",
						   host, log_number(j, "port"))
				       : xstrdup(host);
	ms = xasprintf("%*lld", W_MS, log_number(j, "ms"));
	cell(when, W_TIME, color, STYLE_DIM);
	cell(verdict, W_VERDICT, color, denied ? STYLE_RED : allowed ? STYLE_GREEN : STYLE_YELLOW);
	cell(log_text(j, "verb"), W_VERB, color, STYLE_NONE);
	cell(target, W_TARGET, color, STYLE_NONE);
	cell(what, W_DETAIL, color, STYLE_NONE);
	cell(ms, W_MS, color, STYLE_NONE);
	if (event_is_selftest(j))
		(void)fputs("self-test: ", stdout);
	term_puts(stdout, rule);
	if (reason[0]) {
		(void)fputs(rule[0] ? ": " : "", stdout);
		term_puts(stdout, reason);
	}
	(void)putchar('\n');
}

static int on_line(void *arg, const struct events_line *l)
{
	const struct shown *sh = arg;
	cleanup_json json_t *j = NULL;

	/* Most lines are of other types: not worth parsing. */
	if (!strstr(l->text, "\"net\""))
		return 0;
	j = json_loads(l->text, 0, NULL);
	if (!j || !streq(log_text(j, "type"), "net") || log_number(j, "at_ms") < sh->since_ms ||
	    (sh->denied && !event_is_refusal(j)) || (!sh->all && event_is_selftest(j)))
		return 0;
	if (sh->json)
		json_show_line(l->text, stdout);
	else
		print_record(j, sh->color);
	return 0;
}

static int show(struct cli *cli, const struct log_args *args, const char *dir)
{
	struct shown sh = {
		.denied = args->denied,
		.all = args->all || args->json,
		.json = args->json,
		.color = cli_color(cli, STDOUT_FILENO),
	};
	int r = args->since ? since_parse(args->since, &sh.since_ms, &cli->err) : 0;

	if (r < 0)
		return r;
	if (!args->json)
		print_head(sh.color);
	return log_view(dir, args->follow, on_line, &sh, &cli->err);
}

static int cmd_log_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *name = NULL, *dir = NULL;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = net_record(cli, &p, argc ? argv[0] : NULL, &name);
	if (r == 0)
		r = store_open(&p, name, false, &e, &cli->err);
	if (r < 0)
		return r;
	dir = xasprintf("%s/sandboxes/%s", p.state, name);
	return show(cli, args, dir);
}

const struct command cmd_net_log = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show what a sandbox reached and what it was refused",
	.flags = CMD_CONFIG,
	OPTIONS(log_opts, struct log_args),
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_log_run,
};
