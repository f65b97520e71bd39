#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "view/event-text.h"
#include "view/log-view.h"
#include "cli/net-common.h"
#include "cli/show/why.h"
#include "events/events-files.h"
#include "record/store.h"

struct why_args {
	const char *sandbox;
	bool json;
};

#define AT(member) offsetof(struct why_args, member)

static const struct opt why_opts[] = {
	{"sandbox", 's', OPT_STR, AT(sandbox), "NAME", "of this sandbox",
	 .complete = COMPLETE_SANDBOX},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

void why_done(struct why *w)
{
	free(w->about);
	free(w->why);
	free(w->rule);
	free(w->setting);
	free(w->origin);
	free(w->remedy);
	free(w->seen);
}

void why_setting(struct why *w, const struct config *c, const char *key, size_t item)
{
	const char *origin = item == SIZE_MAX ? NULL : config_item_origin(c, key, item);

	if (!origin)
		origin = config_origin(c, key);
	free(w->setting);
	free(w->origin);
	w->setting = xstrdup(key);
	w->origin = origin ? xstrdup(origin) : NULL;
}

static void of_budget(const struct why_input *in, const json_t *j, struct why *w)
{
	const struct config *c = in->settings->config;
	bool tokens = strstr(log_text(j, "message"), "tokens") != NULL;

	w->refused = true;
	w->why = xstrdup(log_text(j, "message"));
	why_setting(w, c, tokens ? "budget.tokens" : "budget.usd", SIZE_MAX);
	/* As much again as was spent by then. */
	w->remedy =
		tokens ? xasprintf("ralph run --budget-tokens %lld", 2 * log_number(j, "tokens"))
		       : xasprintf("ralph run --budget %.2f",
				   2 * (double)log_number(j, "micro_usd") / 1e6);
}

static void of_credential(const struct why_input *in, const json_t *j, struct why *w)
{
	const struct config *c = in->settings->config;
	size_t item = SIZE_MAX;

	for (size_t i = 0; i < c->n_credentials; i++)
		if (streq(c->credentials[i].name, log_text(j, "credential")))
			item = i;
	w->refused = streq(log_text(j, "what"), "refused");
	w->why = event_text(j);
	why_setting(w, c, "credentials", item);
}

/* Explains a network event by the present rules, which may have changed since. */
static int of_net(const struct why_input *in, const json_t *j, struct why *w)
{
	const char *host = log_text(j, "host");
	cleanup_free char *target =
		xasprintf(strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, log_number(j, "port"));
	struct err before = in->cli->err;
	bool was_refused = streq(log_text(j, "verdict"), "deny");
	struct why now = {0};
	int r = why_host(in, target, &now);

	if (r < 0) {
		/* A name that is none, or too many to tell: the record knows why. */
		in->cli->err = before;
		why_done(&now);
		w->refused = was_refused;
		w->why = event_text(j);
		why_setting(w, in->settings->config, "network.tier", SIZE_MAX);
		return 0;
	}
	*w = now;
	if (was_refused && !w->refused) {
		free(w->why);
		w->why = xasprintf("it was refused (%s); by the rules of now it is allowed",
				   log_text(j, "reason"));
	} else if (was_refused && log_text(j, "reason")[0]) {
		free(w->why);
		w->why = xstrdup(log_text(j, "reason"));
	}
	return 0;
}

int why_event(const struct why_input *in, const json_t *j, struct why *w)
{
	const char *type = log_text(j, "type");
	cleanup_free char *words = event_text(j);
	int r = 0;

	if (streq(type, "net")) {
		r = of_net(in, j, w);
	} else if (streq(type, "surface")) {
		r = why_path(in, log_text(j, "path"), w);
	} else if (streq(type, "budget")) {
		of_budget(in, j, w);
	} else if (streq(type, "credential")) {
		of_credential(in, j, w);
	} else if (streq(type, "exec-end") && json_is_true(json_object_get(j, "timed_out"))) {
		w->refused = true;
		w->why = xstrdup("the command was ended at its time limit");
		why_setting(w, in->settings->config, "limits.timeout", SIZE_MAX);
		w->remedy = xstrdup("ralph run --timeout 0");
	} else {
		w->why = xasprintf("nothing was refused: %s", words[0] ? words : type);
	}
	free(w->about);
	w->about = xasprintf("event %lld, %s: %s", log_number(j, "seq"), type, words);
	return r;
}

/* A search of the log: for one record by its number, or for the last refusal of a host. */
struct search {
	uint64_t seq;
	const char *host; /* with its port */
	json_t *found;
	uint64_t times;
};

static int on_line(void *arg, const struct events_line *l)
{
	struct search *s = arg;
	struct chain_record r;
	json_t *j;

	if (l->cut || !chain_split(l->text, l->n, &r))
		return 0;
	if (s->seq) {
		if (r.seq == s->seq)
			s->found = json_loads(l->text, 0, NULL);
		return r.seq >= s->seq ? 1 : 0;
	}
	if (!strstr(l->text, "\"verdict\":\"deny\""))
		return 0;
	j = json_loads(l->text, 0, NULL);
	if (j && event_is_refusal(j) && streq(log_text(j, "host"), s->host)) {
		s->times += (uint64_t)log_number(j, "count");
		json_decref(s->found);
		s->found = j;
	} else {
		json_decref(j);
	}
	return 0;
}

static int search_log(const struct why_input *in, struct search *s)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	const struct places *p = &in->settings->places;
	struct events_files f = EVENTS_FILES_INIT;
	cleanup_free char *name = NULL;
	struct err *err = &in->cli->err;
	int r = net_record(in->cli, p, in->sandbox, &name);

	if (r == 0)
		r = store_open(p, name, false, &e, err);
	if (r == 0)
		r = events_files_open(e.dir, &f, err);
	if (r == 0)
		r = events_each(&f, on_line, s, err);
	events_files_close(&f);
	return r < 0 ? r : 0;
}

static int by_number(const struct why_input *in, uint64_t seq, struct why *w)
{
	struct search s = {.seq = seq};
	int r = search_log(in, &s);

	if (r == 0 && !s.found)
		r = err_set(&in->cli->err, ENOENT, "there is no event %llu; see: ralph events",
			    (unsigned long long)seq);
	if (r == 0)
		r = why_event(in, s.found, w);
	json_decref(s.found);
	return r;
}

/* Adds what the log says about the host. A workspace without a log is no error. */
static void add_seen(const struct why_input *in, struct why *w)
{
	cleanup_free char *host = xstrdup(w->about);
	struct err before = in->cli->err;
	struct search s = {.host = host};
	char when[LOG_TIME_SIZE];
	char *colon = strrchr(host, ':');

	if (colon)
		*colon = '\0';
	if (search_log(in, &s) == 0 && s.found) {
		log_time(s.found, when);
		w->seen = xasprintf("refused %llu times, last at %s (event %lld)",
				    (unsigned long long)s.times, when, log_number(s.found, "seq"));
	}
	in->cli->err = before;
	json_decref(s.found);
}

/* A slash in front of any host, or a file of that name here. */
static bool is_path(const char *s)
{
	struct stat st;

	if (s[0] == '/' || s[0] == '.' || s[0] == '~')
		return true;
	if (strstr(s, "://"))
		return false;
	return strchr(s, '/') != NULL || lstat(s, &st) == 0;
}

static int find(const struct why_input *in, const char *what, struct why *w)
{
	uint64_t seq = 0;
	int r;

	if (parse_uint(what, 1, UINT64_MAX, &seq) == 0)
		return by_number(in, seq, w);
	if (is_path(what))
		return why_path(in, what, w);
	r = why_host(in, what, w);
	if (r == 0)
		add_seen(in, w);
	return r;
}

static void set(json_t *j, const char *key, const char *text)
{
	(void)json_object_set_new(j, key, text ? json_text(text) : json_null());
}

static void print_json(const struct why *w)
{
	cleanup_json json_t *j = json_pack("{sb}", "refused", w->refused);

	set(j, "about", w->about);
	set(j, "why", w->why);
	set(j, "rule", w->rule);
	set(j, "setting", w->setting);
	set(j, "origin", w->origin);
	set(j, "remedy", w->remedy);
	set(j, "seen", w->seen);
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void line(const char *label, const char *text)
{
	if (!text)
		return;
	(void)printf("  %-9s ", label);
	term_puts(stdout, text);
	(void)putchar('\n');
}

static void print_text(struct cli *cli, const struct why *w)
{
	bool color = cli_color(cli, STDOUT_FILENO);

	term_puts(stdout, w->about);
	(void)fputs("  ", stdout);
	term_styled(stdout, color, w->refused ? STYLE_RED : STYLE_GREEN,
		    w->refused ? "refused" : "not refused");
	(void)putchar('\n');
	line("why", w->why);
	line("rule", w->rule);
	line("setting", w->setting);
	line("from", w->origin);
	line("seen", w->seen);
	line("to change", w->remedy);
}

static int cmd_why_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct why_args *args = args_;
	cleanup_(why_done) struct why w = {0};
	cleanup_settings struct settings s = {0};
	struct why_input in = {.cli = cli, .settings = &s, .sandbox = args->sandbox};
	int r = settings_load(cli, NULL, &s);

	if (r == 0)
		r = find(&in, argv[0], &w);
	if (r < 0)
		return r;
	if (args->json)
		print_json(&w);
	else
		print_text(cli, &w);
	return w.refused ? 1 : 0;
}

const struct command cmd_why = {
	.name = "why",
	.operands = "ID|HOST[:PORT]|URL|PATH",
	.summary = "explain a refusal of a host or path",
	.details = "ID is the number of an event, as ralph events shows it. Exits with 1 when it\n"
		   "was, or would be, refused, and names the command that would change it.",
	.group = GROUP_MANAGE,
	.flags = CMD_CONFIG,
	OPTIONS(why_opts, struct why_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_why_run,
};
