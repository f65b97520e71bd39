#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/human.h"
#include "cli/net-common.h"
#include "cli/settings.h"
#include "cli/since.h"
#include "live/autosave.h"
#include "live/inbox.h"
#include "record/home.h"
#include "record/store.h"

#define RESULT_MAX_LIMIT (1 * MiB)
#define EXPORT_MS (30 * 60 * 1000) /* of one sandbox */
#define ANSWER_MAX (64 * KiB)

struct export_args {
	const char *agent, *since, *out, *format;
	uint64_t max_result;
	bool thinking, json;
};

#define AT(member) offsetof(struct export_args, member)

static const char *const formats[] = {"md", "json", "html", NULL};

/* clang-format off */
static const struct opt export_opts[] = {
	{"agent", 0, OPT_STR, AT(agent), "AGENT", "only this agent's conversations"},
	{"since", 0, OPT_STR, AT(since), "TIME", "only later: 7d (ago), 2026-01-31, 2026-01-31T12:00[:00][Z]"},
	{"out", 'o', OPT_STR, AT(out), "DIR", "where to; else inbox.dir, or ralph's own inbox",
	 .complete = COMPLETE_DIR},
	{"format", 0, OPT_CHOICE, AT(format), "FORMAT", "md, json or html", .choices = formats},
	{"thinking", 0, OPT_BOOL, AT(thinking), NULL, "what models thought, too"},
	{"max-result", 0, OPT_SIZE, AT(max_result), "SIZE", "how much of a tool's result is shown (4K)"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "say what was done as JSON"},
};
/* clang-format on */

static const char *const fields[] = {"written",		"unchanged",	   "empty", "failed",
				     "skipped_records", "secrets_removed", "bytes"};
enum { WRITTEN, UNCHANGED, EMPTY, FAILED, SKIPPED, REMOVED, BYTES, FIELDS };

struct total {
	uint64_t n[FIELDS];
	struct strv homes; /* that were read: sandboxes of a project share one */
};

/*
 * The default is the inbox, where ralph also saves conversations by itself. With an inbox that is
 * switched off, it is the place where the inbox would be.
 */
static char *out_dir(const struct export_args *args, const struct settings *s)
{
	char *inbox = NULL;

	if (args->out && *args->out)
		return xstrdup(args->out);
	inbox = places_inbox(&s->places, s->config->inbox.dir);
	return inbox ? inbox : places_inbox(&s->places, NULL);
}

static int export_one(struct cli *cli, const struct places *p, const char *name,
		      const struct export_args *args, int64_t since, const char *out,
		      struct total *t)
{
	const struct export_options options = {.format = args->format,
					       .agent = args->agent,
					       .since_ms = since,
					       .max_result = args->max_result,
					       .thinking = args->thinking};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *text = NULL, *record = store_record(p, name), *home = NULL, *dir = NULL;
	cleanup_strv struct strv argv = {0};
	cleanup_json json_t *j = NULL;
	cleanup_fd int to = -1;
	struct run run;
	struct err ignored;
	int code = 0, r = store_open(p, name, false, &e, &cli->err);

	if (r < 0)
		return r;
	(void)store_read_spec(&e, &spec, &ignored);
	home = home_memory(p, record, spec);
	if (strv_has(&t->homes, home))
		return 0;
	strv_push(&t->homes, home);
	to = inbox_open(spec, out, &cli->err);
	r = to < 0 ? to : export_run(p, record, spec, out, &options, &argv, &run, &cli->err);
	if (r < 0)
		return r;
	dir = xasprintf("/proc/self/fd/%d", to);
	run.dir = dir;
	run.stdio[2] = STDERR_FILENO;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, EXPORT_MS, ANSWER_MAX, &text, &code, &cli->err);
	closep(&run.stdio[0]);
	if (r == 0 && text)
		r = json_parse(text, strlen(text), &j, &cli->err);
	for (size_t i = 0; r == 0 && i < FIELDS; i++)
		t->n[i] += (uint64_t)json_integer_value(json_object_get(j, fields[i]));
	if (r == 0 && code != 0)
		r = err_set(&cli->err, EIO, "not all conversations of '%s' could be exported",
			    name);
	return r;
}

static void report(const struct export_args *args, const struct total *t, const char *out)
{
	cleanup_free char *size = human_size(t->n[BYTES]);

	if (args->json) {
		cleanup_json json_t *j = json_pack("{so}", "out", json_text(out));

		for (size_t i = 0; i < FIELDS; i++)
			(void)json_object_set_new(j, fields[i], json_integer((json_int_t)t->n[i]));
		(void)json_show(j, stdout, JSON_INDENT(2));
		(void)putchar('\n');
		return;
	}
	(void)printf("%llu written, %llu unchanged, %s read\n", (unsigned long long)t->n[WRITTEN],
		     (unsigned long long)t->n[UNCHANGED], size);
	if (t->n[REMOVED])
		(void)printf("%llu secrets removed\n", (unsigned long long)t->n[REMOVED]);
	if (t->n[SKIPPED])
		(void)printf("%llu records skipped: torn, or of a kind that is not known\n",
			     (unsigned long long)t->n[SKIPPED]);
	term_puts(stdout, out);
	(void)puts("/conversations");
}

static int check_args(struct cli *cli, const struct export_args *args)
{
	if (args->max_result > RESULT_MAX_LIMIT)
		return cli_usage(cli, "--max-result is 1M at most");
	if (args->agent && !agent_find(args->agent))
		return cli_usage(cli, "there is no agent '%s'", args->agent);
	return 0;
}

static int cmd_export_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct export_args *args = args_;
	cleanup_settings struct settings s = {0};
	cleanup_free char *here = NULL, *out = NULL, *plain = NULL;
	cleanup_strv struct strv names = {0};
	struct total total = {0};
	int64_t since = 0;
	int first = 0, r = check_args(cli, args);

	if (r == 0 && args->since)
		r = since_parse(args->since, &since, &cli->err);

	if (r == 0)
		r = settings_load(cli, NULL, &s);
	for (int i = 0; r == 0 && i < argc; i++) {
		if (streq(argv[i], "."))
			r = net_project(cli, &s.places, &names);
		else
			strv_push(&names, argv[i]);
	}
	if (r == 0 && argc == 0)
		r = store_list(&s.places, &names, &cli->err);
	if (r < 0)
		return r;
	here = getcwd(NULL, 0);
	if (!here)
		return err_sys(&cli->err, errno, "cannot find the current directory");
	out = out_dir(args, &s);
	plain = path_plain(here, out);
	for (size_t i = 0; i < names.n; i++) {
		r = export_one(cli, &s.places, names.v[i], args, since, plain, &total);
		if (r < 0 && argc == 0 && store_is_gone(&s.places, names.v[i]))
			continue; /* removed meanwhile: nothing is left to export */
		if (r < 0 && first == 0)
			first = r;
		else if (r < 0)
			log_error("export", "%s", cli->err.msg);
	}
	report(args, &total, plain);
	strv_done(&total.homes);
	return first;
}

const struct command cmd_export = {
	.name = "export",
	.operands = "[NAME…]",
	.summary = "write conversations of sandboxes to files",
	.details = "Conversations of the agents in the sandboxes NAME (all; '.': this project's)\n"
		   "become files\n"
		   "DIR/conversations/TIME/SLUG.md, with what looks like a secret taken out.\n"
		   "Those that have not changed since the last time are left alone.",
	.group = GROUP_MANAGE,
	.flags = CMD_CONFIG,
	OPTIONS(export_opts, struct export_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_export_run,
};
