#include "cli/frame/command.h"
#include "cli/commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "base/text/table.h"
#include "cli/since.h"
#include "record/loops.h"
#include "record/name.h"
#include "record/store.h"
#include "events/usage-kept.h"

struct usage_args {
	bool json;
	const char *since;
};

#define AT(member) offsetof(struct usage_args, member)

static const struct opt usage_opts[] = {
	{"since", 0, OPT_STR, AT(since), "TIME",
	 "only later: 7d (ago), 2026-01-31, 2026-01-31T12:00[:00][Z]"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

#define KEPT_LOGS_MAX 10000
#define DAY_LEN 10 /* "2026-01-31" */

/* The usage of one model on one day in one sandbox. */
struct row {
	char *sandbox, *model;
	char day[DAY_LEN + 1];
	uint64_t requests, micro_usd;
	struct usage_tokens tokens;
};

struct rows {
	const char *sandbox; /* its log is being read */
	const char *only;    /* of this sandbox; NULL: of all */
	char since[32];	     /* earlier ones are left out */
	struct row *v;
	size_t n;
};

static void rows_done(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].sandbox);
		free(r->v[i].model);
	}
	free(r->v);
}

static struct row *row_for(struct rows *r, const struct usage_event *e)
{
	struct row *row;

	for (size_t i = r->n; i > 0; i--) {
		row = &r->v[i - 1];
		if (streq(row->sandbox, r->sandbox) && streq(row->model, e->model) &&
		    strncmp(row->day, e->time, DAY_LEN) == 0)
			return row;
	}
	r->v = xrealloc(r->v, r->n + 1, sizeof(*r->v));
	row = &r->v[r->n++];
	*row = (struct row){.sandbox = xstrdup(r->sandbox), .model = xstrdup(e->model)};
	(void)snprintf(row->day, sizeof(row->day), "%.*s", DAY_LEN, e->time);
	return row;
}

static void add(struct row *row, uint64_t requests, const struct usage_tokens *t, uint64_t usd)
{
	row->requests += requests;
	row->micro_usd += usd;
	row->tokens.input += t->input;
	row->tokens.output += t->output;
	row->tokens.cache_read += t->cache_read;
	row->tokens.cache_write += t->cache_write;
}

static void on_event(void *arg, const struct usage_event *e)
{
	struct rows *r = arg;

	if (strcmp(e->time, r->since) >= 0)
		add(row_for(r, e), e->requests, &e->tokens, e->micro_usd);
}

static int read_one(const struct places *p, const char *name, struct rows *r, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int x = store_open(p, name, false, &e, err);

	if (x < 0)
		return x;
	r->sandbox = name;
	x = usage_each(e.dir, on_event, r, err);
	return x < 0 ? err_wrap(err, x, "sandbox '%s'", name) : 0;
}

static int read_all(const struct places *p, struct rows *r, struct err *err)
{
	cleanup_strv struct strv names;
	int x;

	strv_init(&names);
	x = store_list(p, &names, err);
	for (size_t i = 0; x == 0 && i < names.n; i++) {
		x = read_one(p, names.v[i], r, err);
		if (x == -ENOENT)
			x = 0; /* removed meanwhile */
	}
	return x;
}

static void on_kept(void *arg, const char *sandbox, const struct usage_event *e)
{
	struct rows *r = arg;

	if (r->only && !streq(r->only, sandbox))
		return;
	r->sandbox = sandbox;
	on_event(r, e);
}

/* A sandbox that was removed has what is kept of it. */
static int read_named(const struct places *p, const char *name, struct rows *r, struct err *err)
{
	int x;

	r->only = name;
	x = usage_kept_each(p->state, on_kept, r, err);
	if (x == 0)
		x = read_one(p, name, r, err);
	return x == -ENOENT && r->n > 0 ? 0 : x;
}

/* The log of a sandbox that a loop has removed: NAME, or NAME.2 and so on where it had that name
 * again. */
static void read_kept(int all, const char *kept, struct rows *r)
{
	cleanup_free char *name = xstrndup(kept, strcspn(kept, "."));
	cleanup_fd int dir = path_open_beneath(all, kept, O_RDONLY | O_DIRECTORY, 0);
	struct err ignored;

	if (dir < 0 || !name_valid(name))
		return;
	r->sandbox = name;
	(void)usage_each(dir, on_event, r, &ignored);
}

static void read_kept_of(const char *workspace, struct rows *r)
{
	cleanup_fd int root = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int all = root < 0 ? -1
			   : path_open_beneath(root, LOOPS_LOGS "/" LOOPS_KEPT_EVENTS,
					       O_RDONLY | O_DIRECTORY, 0);
	DIR *d = all < 0 ? NULL : fdopendir(all);
	size_t n = 0;

	if (!d) {
		closep(&all);
		return;
	}
	for (struct dirent *e = readdir(d); e && n < KEPT_LOGS_MAX; e = readdir(d), n++)
		read_kept(all, e->d_name, r);
	(void)closedir(d);
}

/* Adds the logs that finished loops kept: they outlive their sandboxes. */
static int read_loops(const struct places *p, struct rows *r, struct err *err)
{
	cleanup_strv struct strv workspaces;
	int x;

	strv_init(&workspaces);
	x = loops_each(p, &workspaces, err);
	for (size_t i = 0; x == 0 && i < workspaces.n; i++)
		read_kept_of(workspaces.v[i], r);
	return x;
}

static void print_json(const struct rows *r)
{
	cleanup_json json_t *a = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct row *row = &r->v[i];
		const struct usage_tokens *t = &row->tokens;

		(void)json_array_append_new(
			a,
			json_pack("{ss ss so sI sI sI sI sI sf}", "sandbox", row->sandbox, "day",
				  row->day, "model", json_text(row->model), "requests",
				  (json_int_t)row->requests, "input", (json_int_t)t->input,
				  "output", (json_int_t)t->output, "cache_read",
				  (json_int_t)t->cache_read, "cache_write",
				  (json_int_t)t->cache_write, "usd", (double)row->micro_usd / 1e6));
	}
	(void)json_show(a, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	(void)putchar('\n');
}

static void put_row(struct table *t, const struct row *row)
{
	const uint64_t counts[] = {row->requests, row->tokens.input, row->tokens.cache_write,
				   row->tokens.cache_read, row->tokens.output};

	table_cell(t, row->sandbox);
	table_cell(t, row->day);
	table_cell(t, row->model);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		table_cellf(t, "%llu", (unsigned long long)counts[i]);
	table_cellf(t, "%.4f", (double)row->micro_usd / 1e6);
}

static void print_table(struct cli *cli, const struct rows *r)
{
	static const struct table_column columns[] = {
		{"SANDBOX"},
		{"DAY", .keep = true},
		{"MODEL"},
		{"REQUESTS", .right = true, .keep = true},
		{"INPUT", .right = true, .keep = true},
		{"CACHE WRITE", .right = true, .keep = true},
		{"CACHE READ", .right = true, .keep = true},
		{"OUTPUT", .right = true, .keep = true},
		{"USD", .right = true, .keep = true},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	char nothing[] = "", total[] = "total";
	struct row sum = {.sandbox = total, .model = nothing};

	for (size_t i = 0; i < r->n; i++) {
		put_row(t, &r->v[i]);
		add(&sum, r->v[i].requests, &r->v[i].tokens, r->v[i].micro_usd);
	}
	if (r->n > 1)
		put_row(t, &sum);
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int set_since(struct rows *r, const char *text, struct err *err)
{
	int64_t ms = 0;
	int x = text ? since_parse(text, &ms, err) : 0;
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	if (x < 0 || !text)
		return x;
	(void)gmtime_r(&s, &tm);
	(void)strftime(r->since, sizeof(r->since), "%Y-%m-%dT%H:%M:%S", &tm);
	return 0;
}

static int cmd_usage_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct usage_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_(rows_done) struct rows rows = {0};
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = set_since(&rows, args->since, &cli->err);
	if (r == 0)
		r = argc ? read_named(&p, argv[0], &rows, &cli->err)
			 : read_all(&p, &rows, &cli->err);
	if (r == 0 && argc == 0)
		r = read_loops(&p, &rows, &cli->err);
	if (r == 0 && argc == 0)
		r = usage_kept_each(p.state, on_kept, &rows, &cli->err);
	if (r < 0)
		return r;
	if (args->json)
		print_json(&rows);
	else
		print_table(cli, &rows);
	return 0;
}

const struct command cmd_usage = {
	.name = "usage",
	.operands = "[NAME]",
	.summary = "show what sandboxes have used at providers, and what it cost",
	.details = "A sandbox that was removed keeps its sums by day and model.",
	.group = GROUP_MANAGE,
	OPTIONS(usage_opts, struct usage_args),
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_usage_run,
};
