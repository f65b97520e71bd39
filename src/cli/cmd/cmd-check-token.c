#include "cli/frame/command.h"
#include "cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/json/jpick.h"
#include "cli/settings.h"
#include "compose/cred-check.h"
#include "events/events-files.h"
#include "record/store.h"

extern char **environ;

struct check_args {
	bool json;
};

#define HOUR_MS (3600ULL * 1000)
#define TIME_SIZE 40 /* "2026-01-31T12:00:00.000Z" */
#define MESSAGE_MAX 1024

#define AT(member) offsetof(struct check_args, member)
static const struct opt check_opts[] = {
	{"agent", 0, OPT_CHOICE, 0, "NAME", "whose credentials; claude when none is set",
	 .key = "agent", .choices = agent_words},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

/* ---- logins that a provider has refused to renew ---- */

struct ended {
	const char *service;
	char since[TIME_SIZE]; /* later refusals are of the login that is there now */
	char *message;	       /* of the last one; NULL: none */
};

static int on_line(void *arg, const struct events_line *l)
{
	static const char *const names[] = {"type", "what",  "credential",
					    "time", "final", "message"};
	struct jtext v[ARRAY_SIZE(names)];
	cleanup_free char *time = NULL;
	struct ended *e = arg;

	if (l->cut || !memmem(l->text, l->n, "\"not-renewed\"", 13) ||
	    !jpick((struct jtext){l->text, l->n}, names, v, ARRAY_SIZE(names)) ||
	    !jtext_eq(v[0], "credential") || !jtext_eq(v[1], "not-renewed") ||
	    !jtext_eq(v[2], e->service) || !jtext_true(v[4]))
		return 0;
	time = jtext_dup(v[3], TIME_SIZE);
	if (!time || strcmp(time, e->since) <= 0)
		return 0;
	free(e->message);
	e->message = jtext_dup(v[5], MESSAGE_MAX);
	return 0;
}

/* Formats the time of a file as events have it. */
static bool file_time(const char *path, char ret[TIME_SIZE])
{
	struct stat st;
	struct tm tm;
	size_t n;

	if (stat(path, &st) < 0 || !gmtime_r(&st.st_mtim.tv_sec, &tm))
		return false;
	n = strftime(ret, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret + n, TIME_SIZE - n, ".%03ldZ", st.st_mtim.tv_nsec / 1000000);
	return n > 0;
}

/* The file of a login that has ended looks as good as any: only the provider's answer to a sandbox
 * tells, and that is in the sandbox's event log. */
static void find_ended(const struct places *p, struct cred_status *s)
{
	struct ended e = {.service = s->service};
	cleanup_strv struct strv names = {0};
	struct err ignored = {0};

	if (s->state != CRED_STATE_OK || !s->renewable || strncmp(s->source, "file:", 5) != 0 ||
	    !file_time(s->source + 5, e.since) || store_names(p, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		cleanup_store struct store_entry entry = STORE_ENTRY_INIT;
		struct events_files f = EVENTS_FILES_INIT;

		if (store_open(p, names.v[i], false, &entry, &ignored) == 0 &&
		    events_files_open(entry.dir, &f, &ignored) == 0)
			(void)events_each(&f, on_line, &e, &ignored);
		events_files_close(&f);
	}
	if (!e.message)
		return;
	s->state = CRED_STATE_UNUSABLE;
	free(s->problem);
	s->problem = e.message;
}

static void print_time_left(const struct cred_status *s)
{
	uint64_t hours = s->left_ms / HOUR_MS;

	if (!s->expires_ms)
		(void)printf(", does not expire by itself");
	else if (s->left_ms == 0)
		(void)printf(", expired");
	else if (hours == 0)
		(void)printf(", less than an hour left");
	else if (hours < 48)
		(void)printf(", %" PRIu64 " hour%s left", hours, hours == 1 ? "" : "s");
	else
		(void)printf(", %" PRId64 " days left", s->days_left);
	if (s->expires_ms && s->renewable)
		(void)printf(", renewed by ralph");
}

static void print_status(const struct cred_status *s)
{
	(void)printf("%s: ", s->service);
	switch (s->state) {
	case CRED_STATE_OK:
		(void)printf("ok, %s in ", s->provider);
		term_puts(stdout, s->where);
		print_time_left(s);
		break;
	case CRED_STATE_MISSING:
		(void)printf("none found");
		break;
	case CRED_STATE_OFF:
		(void)printf("off, by your settings");
		break;
	case CRED_STATE_UNUSABLE:
	case CRED_STATE_N:
		(void)printf("not usable");
		break;
	}
	(void)putchar('\n');
	if (s->problem) {
		(void)printf("  ");
		term_puts(stdout, s->problem);
		(void)putchar('\n');
	}
	if (s->warning) {
		(void)printf("  warning: ");
		term_puts(stdout, s->warning);
		(void)putchar('\n');
	}
}

static int print_json(struct cli *cli, const struct agent *a, const struct cred_report *r)
{
	cleanup_json json_t *j = cred_report_json(r);

	if (!j || json_object_set_new(j, "agent", json_string(a->name)) < 0 ||
	    json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return 0;
}

static int check_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct check_args *args = args_;
	cleanup_(cred_report_done) struct cred_report report = {0};
	cleanup_settings struct settings s = {0};
	const struct agent *a;
	int r = settings_load(cli, NULL, &s);

	if (r < 0)
		return r;
	a = agent_find(s.config->agent);
	/* "command" has no credentials of its own. */
	if (!a || !a->services[0])
		a = agent_default();
	r = cred_check(&s.places, s.config, environ, ".", a, &report, &cli->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < report.n; i++)
		find_ended(&s.places, &report.v[i]);
	if (args->json)
		r = print_json(cli, a, &report);
	for (size_t i = 0; !args->json && i < report.n; i++)
		print_status(&report.v[i]);
	if (r < 0)
		return r;
	return cred_report_ok(&report) ? EXIT_OK : CRED_EXIT;
}

const struct command cmd_check_token = {
	.name = "check-token",
	.summary = "say whether an agent's credentials are present and still valid",
	.details = "Looks where an agent's credentials are on this machine: variables, files, the\n"
		   "Secret Service. Says where each is and how long it is valid, and whether a\n"
		   "provider has refused to renew it for a sandbox. Nothing is sent anywhere.\n"
		   "Exits 0 when there is one that can be used, 8 when not.",
	.group = GROUP_CONFIG,
	.flags = CMD_CONFIG,
	OPTIONS(check_opts, struct check_args),
	.run = check_run,
};
