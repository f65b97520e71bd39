#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "cli/settings.h"
#include "base/text/table.h"
#include "live/live.h"
#include "check/selftest.h"
#include "record/store.h"

extern char **environ;

struct selftest_args {
	bool json;
};

#define AT(member) offsetof(struct selftest_args, member)
static const struct opt selftest_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

static const struct table_column columns[] = {
	{"AREA", .keep = true},
	{"WHAT", .keep = true},
	{"EXPECTED", .keep = true},
	{"GOT"},
};

static enum term_style style_of(const struct selftest_row *row)
{
	if (selftest_row_failed(row))
		return STYLE_RED;
	return row->result == SELFTEST_ABSENT ? STYLE_YELLOW : STYLE_GREEN;
}

static void print_table(struct cli *cli, const struct selftest *t, const char *name)
{
	cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	bool color = cli_color(cli, STDOUT_FILENO);
	size_t failed = 0;

	for (size_t i = 0; i < t->n; i++) {
		cleanup_free char *got = selftest_got(&t->rows[i]);

		table_cell(table, t->rows[i].area);
		table_cell(table, t->rows[i].what);
		table_cell(table, selftest_expected(&t->rows[i]));
		table_styled(table, style_of(&t->rows[i]), got);
		failed += selftest_row_failed(&t->rows[i]);
	}
	/* The rows of a failed test are never cut to the terminal's width. */
	table_print(table, stdout, t->passed ? term_width(STDOUT_FILENO) : 0, color);
	(void)printf("\n%s: %zu of %zu as expected, %llu ms\n", name, t->n - failed, t->n,
		     (unsigned long long)t->ms);
}

static int print_json(struct cli *cli, const struct selftest *t, const char *name)
{
	cleanup_json json_t *j = selftest_to_json(t);

	if (!j || json_object_set_new(j, "sandbox", json_string(name)) < 0 ||
	    json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(&cli->err, EIO, "cannot print the result");
	(void)putchar('\n');
	return 0;
}

/* The sandbox that was named, as it is, or that of this directory; it is held while conn is. */
static int find(struct cli *cli, const struct places *p, const char *name,
		struct sandbox_spec **ret, int *ret_conn)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(build_done) struct build b = {0};
	cleanup_settings struct settings s = {0};
	cleanup_free char *owner = NULL;
	struct build_input in = {.name = name, .environ = environ, .make_image = true};
	int r;

	if (name) {
		r = live_connect(p, name, ret_conn, &cli->err);
		if (r == 0 && *ret_conn >= 0)
			r = store_open(p, name, false, &e, &cli->err);
		if (r < 0 || *ret_conn >= 0)
			return r < 0 ? r : store_read_spec(&e, ret, &cli->err);
		owner = store_owner(p, name);
	}
	r = settings_load(cli, owner, &s);
	if (r < 0)
		return r;
	in.path = owner;
	in.places = &s.places;
	in.config = s.config;
	r = build_spec(&in, &b, &cli->err);
	if (r == 0)
		r = live_start_up(&s.places, b.spec, 0, ret_conn, &cli->err);
	if (r == 0)
		*ret = take_ptr(b.spec);
	return r;
}

static int cmd_selftest_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct selftest_args *args = args_;
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_(selftest_done) struct selftest t = {0};
	cleanup_(places_done) struct places p = {0};
	cleanup_fd int conn = -1;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = find(cli, &p, argc > 0 ? argv[0] : NULL, &spec, &conn);
	if (r == 0)
		r = selftest_run(&p, spec, SELFTEST_PROGRAMS, conn, &t, &cli->err);
	if (r < 0)
		return r;
	if (t.passed)
		selftest_stamp(&p, spec);
	if (args->json)
		r = print_json(cli, &t, spec->name);
	else
		print_table(cli, &t, spec->name);
	return r < 0 ? r : t.passed ? EXIT_OK : EXIT_RUNTIME;
}

const struct command cmd_selftest = {
	.name = "selftest",
	.operands = "[NAME]",
	.summary = "attack a sandbox from inside, and report what was blocked and what works",
	.details = "Runs a probe in the sandbox NAME, or in that of the current directory, which\n"
		   "is started for it. The probe tries what must be refused (files, processes,\n"
		   "system calls, networks, keys of the host) and what must work (git, npm,\n"
		   "python, compilers, terminals); what is not installed is no failure.\n"
		   "Exits 0 when all is as expected, 1 when anything got out or broke.",
	.group = GROUP_MANAGE,
	.flags = CMD_CONFIG,
	OPTIONS(selftest_opts, struct selftest_args),
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_selftest_run,
};
