#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/path.h"
#include "base/text/table.h"
#include "base/text/term.h"
#include "check/doctor.h"
#include "check/place-probe.h"
#include "cli/settings.h"

extern char **environ;

struct doctor_args {
	bool json;
	const char *place;
};

#define AT(member) offsetof(struct doctor_args, member)
static const struct opt doctor_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
	{"place", 0, OPT_STR, AT(place), "NAME",
	 "show what a node of this placement offers instead"},
};

static const struct table_column columns[] = {
	{"WHAT", false, true},
	{"STATE", false, true},
	{"FOUND", false, false},
	{"USE", false, false},
};

static const enum term_style styles[DOCTOR_STATE_N] = {
	[DOCTOR_OK] = STYLE_GREEN,
	[DOCTOR_LIMITED] = STYLE_YELLOW,
	[DOCTOR_MISSING] = STYLE_RED,
};

/* Remedies are sentences: below the table, where they are never cut. */
static void print_remedies(const struct doctor *d)
{
	bool first = true;

	for (size_t i = 0; i < d->rows.n; i++) {
		const struct doctor_row *row = &d->rows.v[i];

		if (row->state == DOCTOR_OK || !row->remedy)
			continue;
		(void)printf("%s%s: ", first ? "\n" : "", row->name);
		term_puts(stdout, row->remedy);
		(void)putchar('\n');
		first = false;
	}
}

static void print_text(struct cli *cli, const struct doctor *d)
{
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	bool color = cli_color(cli, STDOUT_FILENO);

	for (size_t i = 0; i < d->rows.n; i++) {
		const struct doctor_row *row = &d->rows.v[i];

		table_cell(t, row->name);
		table_styled(t, styles[row->state], doctor_state_name(row->state));
		table_cell(t, row->detail);
		table_cell(t, row->use);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), color);
	print_remedies(d);
	(void)printf("\n");
	term_styled(stdout, color, d->native ? STYLE_GREEN : STYLE_RED,
		    d->native ? "The native engine is usable."
			      : "The native engine is not usable on this machine.");
	(void)printf("\n");
}

static int print_json(struct cli *cli, const struct doctor *d)
{
	cleanup_json json_t *j = doctor_to_json(d);

	if (!j || json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return 0;
}

/* ---- a node ---- */

static void print_offer(struct cli *cli, const struct place_offer *o, const char *name)
{
	static const struct table_column offer_columns[] = {
		{"WHAT", .keep = true}, {"STATE", .keep = true}, {"FOUND", .keep = true}};
	cleanup_(table_freep) struct table *t = table_new(offer_columns, ARRAY_SIZE(offer_columns));
	bool color = cli_color(cli, STDOUT_FILENO);

	for (size_t i = 0; i < o->n; i++) {
		table_cell(t, o->rows[i].what);
		table_styled(t, o->rows[i].ok ? STYLE_GREEN : STYLE_RED,
			     o->rows[i].ok ? "ok" : "failed");
		table_cell(t, o->rows[i].found);
	}
	table_print(t, stdout, 0, color);
	for (size_t i = 0; i < o->n; i++)
		if (o->rows[i].remedy)
			(void)printf("%s: %s\n", o->rows[i].what, o->rows[i].remedy);
	(void)printf("\n");
	term_styled(stdout, color, o->ok ? STYLE_GREEN : STYLE_RED,
		    o->ok ? "Tasks can be placed at " : "No task can be placed at ");
	(void)printf("%s.\n", name);
}

static int doctor_place(struct cli *cli, const struct doctor_args *a)
{
	cleanup_(place_offer_done) struct place_offer o = {0};
	cleanup_settings struct settings s = {0};
	cleanup_free char *workspace = NULL;
	cleanup_json json_t *j = NULL;
	int r = settings_load(cli, NULL, &s);

	if (r == 0)
		r = path_real(".", &workspace, &cli->err);
	if (r == 0)
		r = place_probe(s.config, a->place, workspace, environ, &o, &cli->err);
	if (r < 0)
		return r;
	if (!a->json) {
		print_offer(cli, &o, a->place);
		return o.ok ? EXIT_OK : EXIT_RUNTIME;
	}
	j = place_offer_to_json(&o, a->place);
	if (!j || json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return o.ok ? EXIT_OK : EXIT_RUNTIME;
}

static int doctor_run(struct cli *cli, void *args, int argc, char **argv)
{
	const struct doctor_args *a = args;
	cleanup_(doctor_done) struct doctor d = {0};
	int r = a->place ? doctor_place(cli, a) : doctor_examine(&d, &cli->err);

	if (r < 0 || a->place)
		return r;
	if (a->json)
		r = print_json(cli, &d);
	else
		print_text(cli, &d);
	if (r < 0)
		return r;
	return d.native ? EXIT_OK : EXIT_RUNTIME;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "show what this machine offers and what ralph does with it",
	.details = "Tries namespaces, Landlock, seccomp, cgroups, docker, podman, KVM\n"
		   "and sbx, each for a short time, and leaves nothing behind. Exits 0 when the\n"
		   "native engine is usable, 1 when it is not. With --place it starts a worker on\n"
		   "a node as a loop would, asks what is there, and exits 0 when tasks can run.",
	.group = GROUP_CONFIG,
	OPTIONS(doctor_opts, struct doctor_args),
	.run = doctor_run,
};
