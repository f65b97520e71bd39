#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/agent-choice.h"
#include "cli/start-checks.h"
#include "cli/settings.h"
#include "base/path.h"
#include "base/text/table.h"
#include "check/preflight.h"
#include "compose/cred-check.h"

extern char **environ;

struct preflight_args {
	bool json;
};

#define AT(member) offsetof(struct preflight_args, member)
/* clang-format off */
static const struct opt preflight_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
	{"place", 0, OPT_STR, 0, "NAME", "also a node of this placement of fleet.places", .key = "fleet.place"},
	SETTINGS_OPTS,
};
/* clang-format on */

void preflight_print(struct cli *cli, const struct preflight *p, FILE *out, bool failed_only)
{
	static const struct table_column columns[] = {
		{"WHAT", .keep = true},
		{"STATE", .keep = true},
		{"FOUND", .keep = true},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	bool color = cli_color(cli, fileno(out));

	for (size_t i = 0; i < p->n; i++) {
		const struct preflight_row *row = &p->rows[i];

		if (failed_only && row->ok)
			continue;
		table_cell(t, row->what);
		table_styled(t, row->ok ? STYLE_GREEN : STYLE_RED, row->ok ? "ok" : "failed");
		table_cell(t, row->found);
	}
	table_print(t, out, 0, color);
	for (size_t i = 0; i < p->n; i++)
		if (!p->rows[i].ok && p->rows[i].remedy) {
			(void)fprintf(out, "%s: ", p->rows[i].what);
			term_puts(out, p->rows[i].remedy);
			(void)fputc('\n', out);
		}
}

void preflight_of(const struct settings *s, const struct sandbox_spec *spec, bool place,
		  struct preflight *ret)
{
	const struct agent *a = agent_find(s->config->agent);
	const struct preflight_input in = {
		.places = &s->places,
		.config = s->config,
		.agent = a,
		.spec = spec,
		.environ = environ,
		.place = place,
	};

	preflight_run(&in, ret);
}

/* Without an agent, the one that a loop here would have is judged. */
static int take_agent(struct cli *cli, const char *path)
{
	cleanup_settings struct settings s = {0};
	cleanup_free char *workspace = NULL;
	int r = path_real(path ? path : ".", &workspace, &cli->err);

	if (r == 0)
		r = settings_load(cli, workspace, &s);
	if (r == 0)
		agent_settle(cli, &s.places, s.config, workspace, "--agent ");
	return r;
}

static int exit_code_of(const struct preflight *p)
{
	bool other = false;

	for (size_t i = 0; i < p->n; i++)
		other = other || (!p->rows[i].ok && !p->rows[i].credential);
	if (other)
		return EXIT_RUNTIME;
	return p->ok ? EXIT_OK : CRED_EXIT;
}

static int cmd_preflight_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct preflight_args *args = args_;
	const struct settings_target target = {.path = argc > 0 ? argv[0] : NULL};
	cleanup_(preflight_done) struct preflight p = {0};
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_json json_t *j = NULL;
	int r = take_agent(cli, target.path);

	if (r == 0)
		r = settings_build(cli, &target, &s, &b);
	if (r < 0)
		return r;
	preflight_of(&s, b.spec, true, &p);
	if (!args->json) {
		preflight_print(cli, &p, stdout, false);
		return exit_code_of(&p);
	}
	j = preflight_to_json(&p);
	if (!j || json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return exit_code_of(&p);
}

const struct command cmd_preflight = {
	.name = "preflight",
	.operands = "[PATH]",
	.summary = "check everything that an unattended run needs",
	.details = "Credentials, clock, disk; that the sandbox of PATH answers, that its gateway\n"
		   "does, refuses a host that no rule allows, and not one that a rule does. All\n"
		   "that is wrong is listed at once, each with its remedy. Nothing is sent\n"
		   "anywhere and nothing stays. Exits 0 when all is well, 8 when a credential is\n"
		   "missing or unusable, 1 when anything else is wrong. With a placement in\n"
		   "fleet.place, one worker is placed to see what its node offers.",
	.group = GROUP_MANAGE,
	.flags = CMD_CONFIG,
	OPTIONS(preflight_opts, struct preflight_args),
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_preflight_run,
};
