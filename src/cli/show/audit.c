#include "cli/show/audit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/mask.h"
#include "base/text/quote-word.h"
#include "base/text/term.h"
#include "compose/no-sandbox.h"
#include "compose/resource-limits.h"
#include "record/host-mounts.h"
#include "compose/no-guest.h"
#include "engine/engine.h"

static void title(FILE *out, bool color, const char *text)
{
	(void)fputc('\n', out);
	term_styled(out, color, STYLE_BOLD, text);
	(void)fputc('\n', out);
}

static enum term_style origin_style(enum spec_origin o)
{
	static const enum term_style styles[] = {
		[SPEC_SET] = STYLE_GREEN,
		[SPEC_PASSED] = STYLE_YELLOW,
		[SPEC_USER] = STYLE_CYAN,
	};

	return styles[o];
}

bool audit_is_secret(const struct spec_env *e)
{
	return !e->credential && mask_is_secret(e->origin == SPEC_SET ? "" : e->name, e->value);
}

/* The user's values are never shown whole: mask_is_secret() is a guess. */
static bool is_masked(const struct spec_env *e)
{
	return (e->origin == SPEC_USER && e->value[0]) || audit_is_secret(e);
}

static void print_mark(FILE *out, bool color, enum spec_origin o)
{
	term_styled(out, color, origin_style(o), spec_origin_mark(o));
	(void)fputc(' ', out);
}

static void print_path(const char *value, FILE *out)
{
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, value, ':');
	for (size_t i = 0; i < dirs.n; i++) {
		(void)fputs("\n      ", out);
		term_puts(out, dirs.v[i]);
	}
}

static void print_variable(const struct spec_env *e, FILE *out, bool color)
{
	cleanup_free char *masked = NULL;

	print_mark(out, color, e->origin);
	term_puts(out, e->name);
	(void)fputc('=', out);
	if (streq(e->name, "PATH")) {
		print_path(e->value, out);
	} else if (e->credential) {
		term_puts(out, e->value);
		(void)fputs("  (no key: good for this sandbox's own gateway only)", out);
	} else if (is_masked(e)) {
		masked = mask_text(e->value);
		term_puts(out, masked);
	} else {
		term_puts(out, e->value);
	}
	(void)fputc('\n', out);
}

/* By category, then by name. */
static int by_origin(const void *a, const void *b)
{
	const struct spec_env *x = *(const struct spec_env *const *)a;
	const struct spec_env *y = *(const struct spec_env *const *)b;

	return x->origin != y->origin ? (int)x->origin - (int)y->origin : strcmp(x->name, y->name);
}

static void print_env(const struct sandbox_spec *s, FILE *out, bool color)
{
	cleanup_free const struct spec_env **sorted = xcalloc(s->n_env, sizeof(struct spec_env *));

	for (size_t i = 0; i < s->n_env; i++)
		sorted[i] = &s->env[i];
	qsort(sorted, s->n_env, sizeof(struct spec_env *), by_origin);
	title(out, color, "Environment");
	(void)fputs("    ", out);
	print_mark(out, color, SPEC_SET);
	(void)fputs("set by the sandbox   ", out);
	print_mark(out, color, SPEC_PASSED);
	(void)fputs("passed from the host   ", out);
	print_mark(out, color, SPEC_USER);
	(void)fputs("added by you\n", out);
	for (size_t i = 0; i < s->n_env; i++)
		print_variable(sorted[i], out, color);
}

static char *size_text(uint64_t bytes)
{
	if (bytes >= 10 * GiB)
		return xasprintf("%llu GiB", (unsigned long long)(bytes / GiB));
	return xasprintf("%llu MiB", (unsigned long long)(bytes / MiB));
}

static void print_budget(const struct spec_budget *b, FILE *out)
{
	if (b->micro_usd)
		(void)fprintf(out, "  at most %llu.%02llu USD at providers\n",
			      (unsigned long long)(b->micro_usd / 1000000),
			      (unsigned long long)(b->micro_usd % 1000000 / 10000));
	if (b->tokens)
		(void)fprintf(out, "  at most %llu tokens at providers\n",
			      (unsigned long long)b->tokens);
}

static void print_limits(const struct sandbox_spec *s, FILE *out, bool color)
{
	const struct spec_limits *l = &s->limits;
	cleanup_free char *memory = size_text(l->memory), *tmp = size_text(l->tmp),
			  *open = limits_unbounded(l);
	cleanup_free char *cpu =
		l->cpu ? xasprintf("%llu%% of one core", (unsigned long long)l->cpu)
		       : xstrdup("all cores");
	cleanup_free char *time =
		l->timeout_ms
			? xasprintf("%llu s a command", (unsigned long long)l->timeout_ms / 1000)
			: xstrdup("no time limit");

	title(out, color, "Limits");
	if (no_guest(s)) {
		(void)fprintf(out, "  memory %s, %s, %s\n  held by: %s\n",
			      l->memory ? memory : "as the engine has it", cpu, time, l->method);
		print_budget(&s->budget, out);
		return;
	}
	(void)fprintf(out,
		      "  memory %s, %llu processes, %s, %s\n"
		      "  %s of temporary files, %llu open files a process\n"
		      "  held by: %s\n",
		      memory, (unsigned long long)l->pids, cpu, time, tmp,
		      (unsigned long long)l->open_files, l->method ? l->method : "nothing");
	if (open)
		(void)fprintf(out, "  not held without a cgroup: %s\n", open);
	print_budget(&s->budget, out);
}

static void print_engine(const struct sandbox_spec *s, FILE *out, bool color)
{
	cleanup_free char *agents = spec_agents_text(s);

	title(out, color, "Engine");
	(void)fprintf(out, "  %s, user %u, agent %s\n", s->engine, s->uid, agents);
	(void)fprintf(out, "  the wall: %s\n", engine_wall(s->engine));
	if (no_guest_without_wall(s)) {
		(void)fputs("  ", out);
		term_styled(out, color, STYLE_RED, direct_warning);
		(void)fputc('\n', out);
	}
}

/* Of a tree that is shared: see ralph-security(7). */
static const char live_note[] =
	"while it runs, a git directory that it makes can run programs when you use git in there; "
	"--clone prevents it";

static void print_notes(const struct strv *notes, FILE *out, bool color)
{
	for (size_t i = 0; i < notes->n; i++) {
		(void)fputs("  ", out);
		term_styled(out, color, STYLE_YELLOW, notes->v[i]);
		(void)fputc('\n', out);
	}
}

int audit_print(const struct sandbox_spec *s, FILE *out, unsigned width, bool color,
		struct err *err)
{
	cleanup_(engine_notes_done) struct engine_notes notes;
	int r;

	engine_notes(s, &notes);
	term_styled(out, color, STYLE_BOLD, s->name);
	(void)fputs("  sandbox of ", out);
	term_puts(out, s->workspace);
	if (s->branch) {
		(void)fputs(", branch ", out);
		term_puts(out, s->branch);
	}
	(void)fputc('\n', out);
	print_env(s, out, color);
	title(out, color, "Mounts");
	r = audit_print_mounts(s, out, width ? width : AUDIT_WIDTH_ELSEWHERE, color, err);
	if (r < 0)
		return r;
	if (!s->clone && s->n_watches)
		strv_push(&notes.mounts, live_note);
	print_notes(&notes.mounts, out, color);
	title(out, color, "Network");
	r = audit_print_net(s, out, color, err);
	if (r < 0)
		return r;
	print_notes(&notes.network, out, color);
	title(out, color, "Credentials");
	audit_print_credentials(s, out, color);
	print_notes(&notes.credentials, out, color);
	print_limits(s, out, color);
	print_engine(s, out, color);
	return 0;
}

#define COMMAND_MAX (256 * KiB)

static void print_command(const struct strv *command, FILE *out)
{
	cleanup_buf struct buf b;

	buf_init(&b, COMMAND_MAX);
	for (size_t i = 0; i < command->n; i++) {
		(void)buf_puts(&b, i ? " " : "");
		quote_word(&b, command->v[i]);
	}
	(void)fputs("  ", out);
	term_puts(out, buf_str(&b));
	(void)fputc('\n', out);
}

int audit_print_rest(const struct sandbox_spec *s, const struct strv *command, FILE *out,
		     struct err *err)
{
	int r;

	print_env(s, out, false);
	title(out, false, "Network");
	r = audit_print_net(s, out, false, err);
	if (r < 0)
		return r;
	title(out, false, "Credentials");
	audit_print_credentials(s, out, false);
	if (!command->n)
		return 0;
	title(out, false, "Command");
	print_command(command, out);
	return 0;
}

static void mask_env(const struct sandbox_spec *spec, json_t *env)
{
	json_t *e;
	size_t i;

	json_array_foreach (env, i, e) {
		cleanup_free char *masked = NULL;

		if (!is_masked(&spec->env[i])) {
			(void)json_object_set_new(e, "value", json_text(spec->env[i].value));
			continue;
		}
		masked = mask_text(spec->env[i].value);
		(void)json_object_set_new(e, "value", json_text(masked));
		(void)json_object_set_new(e, "masked", json_true());
	}
}

static int add_below(const struct sandbox_spec *spec, json_t *mounts, struct err *err)
{
	json_t *m;
	size_t i;

	json_array_foreach (mounts, i, m) {
		const struct spec_mount *from = &spec->mounts[i];
		cleanup_strv struct strv below = {0};
		json_t *list;
		int r;

		if (from->kind != SPEC_BIND_RO && from->kind != SPEC_BIND_RW)
			continue;
		r = host_mounts_below(from->source, &below, err);
		if (r < 0)
			return r;
		if (below.n == 0)
			continue;
		list = json_array();
		for (size_t k = 0; k < below.n; k++)
			(void)json_array_append_new(list, json_text(below.v[k]));
		(void)json_object_set_new(m, "below", list);
	}
	return 0;
}

int audit_to_json(const struct sandbox_spec *spec, json_t **ret, struct err *err)
{
	cleanup_json json_t *j = spec_to_json(spec);
	json_t *sockets = NULL;
	int r = audit_sockets_json(spec, &sockets, err);

	if (r == 0) {
		(void)json_object_set_new(json_object_get(j, "network"), "sockets", sockets);
		r = add_below(spec, json_object_get(j, "mounts"), err);
	}
	if (r < 0)
		return r;
	mask_env(spec, json_object_get(j, "env"));
	*ret = take_ptr(j);
	return 0;
}
