#include "cli/frame/command.h"
#include "cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/settings.h"
#include "compose/cred-check.h"

extern char **environ;

struct check_args {
	bool json;
};

#define HOUR_MS (3600ULL * 1000)

#define AT(member) offsetof(struct check_args, member)
static const struct opt check_opts[] = {
	{"agent", 0, OPT_CHOICE, 0, "NAME", "whose credentials; claude when none is set",
	 .key = "agent", .choices = agent_words},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

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
	if (args->json)
		r = print_json(cli, a, &report);
	for (size_t i = 0; !args->json && i < report.n; i++)
		print_status(&report.v[i]);
	if (r < 0)
		return r;
	return cred_report_ok(&report) ? EXIT_OK : EXIT_RUNTIME;
}

const struct command cmd_check_token = {
	.name = "check-token",
	.summary = "say whether an agent's credentials are there and last",
	.details = "Looks where an agent's credentials are on this machine: variables, files, the\n"
		   "Secret Service. Says where each is and how long it is valid. Nothing is\n"
		   "sent anywhere. Exits 0 when there is one that can be used, 1 when not.",
	.group = GROUP_CONFIG,
	.flags = CMD_CONFIG,
	OPTIONS(check_opts, struct check_args),
	.run = check_run,
};
