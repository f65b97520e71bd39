#include "cli/frame/help.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/signs.h"
#include "cli/frame/command.h"

#define WIDTH 80
#define LABEL_MAX 28 /* a longer label has its text on the next line */
#define LINE_MAX_BYTES (8 * KiB)

static const char *const group_titles[] = {
	[GROUP_RUN] = "Run",	      [GROUP_LOOP] = "Work through a list of tasks",
	[GROUP_MANAGE] = "Sandboxes", [GROUP_CONFIG] = "Settings and this machine",
	[GROUP_MISC] = "More",
};

/* Words of text from column `at` on, wrapped and indented to it. */
static void put_wrapped(FILE *out, const char *text, size_t at)
{
	size_t column = at;

	while (*text) {
		size_t len = strcspn(text, " ");
		cleanup_free char *word = xstrndup(text, len);
		size_t w = term_columns(word);

		if (column > at && column + 1 + w > WIDTH) {
			(void)fprintf(out, "\n%*s", (int)at, "");
			column = at;
		} else if (column > at) {
			(void)fputc(' ', out);
			column++;
		}
		(void)fputs(word, out);
		column += w;
		text += len + strspn(text + len, " ");
	}
	(void)fputc('\n', out);
}

static void put_item(FILE *out, const char *label, const char *text, size_t at)
{
	size_t w = term_columns(label);

	(void)fputs(label, out);
	if (w + 2 > at)
		(void)fprintf(out, "\n%*s", (int)at, "");
	else
		(void)fprintf(out, "%*s", (int)(at - w), "");
	put_wrapped(out, text, at);
}

static void label_of(const struct opt *o, struct buf *b)
{
	buf_clear(b);
	(void)buf_puts(b, "  ");
	if (o->short_name)
		(void)buf_printf(b, "-%c, ", o->short_name);
	else
		(void)buf_puts(b, "    ");
	(void)buf_printf(b, "--%s", o->name);
	if (opt_takes_value(o))
		(void)buf_printf(b, " %s", o->arg ? o->arg : "VALUE");
}

static void text_of(const struct opt *o, struct buf *b)
{
	buf_clear(b);
	(void)buf_puts(b, o->help);
	if (o->choices && opt_takes_value(o))
		for (const char *const *c = o->choices; *c; c++)
			(void)buf_printf(b, "%s%s", c == o->choices ? ": " : ", ", *c);
	if (o->type == OPT_STRV)
		(void)buf_puts(b, "; may be repeated");
	if (o->def && opt_takes_value(o))
		(void)buf_printf(b, " (default: %s)", o->def);
}

static bool is_shown(const struct opt *o, unsigned have)
{
	return !(o->flags & OPT_HIDDEN) && (o->needs & have) == o->needs;
}

static void put_options(FILE *out, const char *title, const struct opt *opts, size_t n,
			unsigned have)
{
	cleanup_buf struct buf label;
	cleanup_buf struct buf text;
	size_t at = 0;
	bool any = false;

	buf_init(&label, LINE_MAX_BYTES);
	buf_init(&text, LINE_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		size_t w;

		label_of(&opts[i], &label);
		w = term_columns(buf_str(&label));
		if (is_shown(&opts[i], have) && w <= LABEL_MAX && w + 2 > at)
			at = w + 2;
	}
	if (at == 0)
		at = LABEL_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&opts[i], have))
			continue;
		if (!any)
			(void)fprintf(out, "\n%s:\n", title);
		any = true;
		label_of(&opts[i], &label);
		text_of(&opts[i], &text);
		put_item(out, buf_str(&label), buf_str(&text), at);
	}
}

/* The names in one group, or all of them for GROUP_N. */
static void put_commands(FILE *out, const char *title, const struct command *const *cmds,
			 enum command_group group, size_t at)
{
	bool any = false;

	for (; *cmds; cmds++) {
		cleanup_free char *label = xasprintf("  %s", (*cmds)->name);

		if ((group != GROUP_N && (*cmds)->group != group) || (*cmds)->flags & CMD_HIDDEN)
			continue;
		if (!any)
			(void)fprintf(out, "\n%s:\n", title);
		any = true;
		put_item(out, label, (*cmds)->summary, at);
	}
}

static size_t names_width(const struct command *const *cmds)
{
	size_t at = 0;

	for (; *cmds; cmds++)
		if (strlen((*cmds)->name) + 4 > at)
			at = strlen((*cmds)->name) + 4;
	return at;
}

static void write_overview(const struct command *const *cmds, bool full, FILE *out)
{
	size_t at = names_width(cmds);

	(void)fputs("usage: ralph [options] COMMAND ...\n\n", out);
	put_wrapped(
		out,
		"Runs coding agents unattended in sandboxes: no real credential inside, no host "
		"reached that was not allowed, nothing left behind that runs on the host.",
		0);
	for (int g = 0; g < GROUP_N; g++)
		put_commands(out, group_titles[g], cmds, (enum command_group)g, at);
	if (full)
		put_options(out, "Options", global_opts, n_global_opts, ~0U);
	(void)fputs("\n'ralph help COMMAND' explains one command.\n", out);
}

static void write_usage(const struct command *c, const char *prefix, FILE *out)
{
	(void)fprintf(out, "usage: ralph %s%s %s%s%s\n", prefix, c->name,
		      c->subs ? "COMMAND ..." : "[options]", c->operands ? " " : "",
		      c->operands ? c->operands : "");
}

static void write_command(const struct command *c, const char *prefix, FILE *out)
{
	write_usage(c, prefix, out);
	(void)fprintf(out, "\n%c%s.\n", toupper((unsigned char)c->summary[0]), c->summary + 1);
	if (c->aliases) {
		(void)fputs("Also called:", out);
		for (const char *const *a = c->aliases; *a; a++)
			(void)fprintf(out, " %s", *a);
		(void)fputc('\n', out);
	}
	if (c->details)
		(void)fprintf(out, "\n%s\n", c->details);
	if (c->subs)
		put_commands(out, "Commands", c->subs, GROUP_N, names_width(c->subs));
	put_options(out, "Options", c->opts, c->n_opts, ~0U);
	put_options(out, "Global options", global_opts, n_global_opts, c->flags);
}

/* A text of help, kept until it is whole, so that its signs can be replaced. */
struct shown {
	char *text;
	size_t n;
	FILE *at;
};

static FILE *shown_open(struct shown *s)
{
	s->at = open_memstream(&s->text, &s->n);
	return s->at;
}

static void shown_close(struct shown *s, FILE *out)
{
	if (fclose(s->at) == 0)
		signs_show(out, s->text, s->n);
	free(s->text);
}

void help_overview(const struct command *const *cmds, bool full, FILE *out)
{
	struct shown s = {0};

	if (!shown_open(&s))
		return;
	write_overview(cmds, full, s.at);
	shown_close(&s, out);
}

void help_command(const struct command *c, const char *prefix, FILE *out)
{
	struct shown s = {0};

	if (!shown_open(&s))
		return;
	write_command(c, prefix, s.at);
	shown_close(&s, out);
}

void help_usage(const struct command *c, const char *prefix, FILE *out)
{
	struct shown s = {0};

	if (!shown_open(&s))
		return;
	write_usage(c, prefix, s.at);
	shown_close(&s, out);
}

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static void dump_options(const char *name, const struct opt *opts, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct opt *o = &opts[i];
		const char letter[] = {o->short_name, '\0'};
		enum opt_type type = opt_takes_value(o) || o->type == OPT_NOT ? o->type : OPT_BOOL;

		if (!(o->flags & OPT_HIDDEN))
			(void)fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", name, o->name,
				      or_dash(letter), opt_type_name(type),
				      opt_takes_value(o) ? or_dash(o->arg) : "-", o->help);
	}
}

static void dump_commands(const struct command *const *cmds, const char *prefix, FILE *out)
{
	for (; *cmds; cmds++) {
		const struct command *c = *cmds;
		cleanup_free char *name = xasprintf("%s%s", prefix, c->name);
		cleanup_free char *below = xasprintf("%s ", name);

		if (c->flags & CMD_HIDDEN)
			continue;
		(void)fprintf(out, "%s\t-\t-\tcommand\t%s\t%s\n", name, or_dash(c->operands),
			      c->summary);
		dump_options(name, c->opts, c->n_opts, out);
		if (c->subs)
			dump_commands(c->subs, below, out);
	}
}

void help_dump(const struct command *const *cmds, FILE *out)
{
	dump_options("-", global_opts, n_global_opts, out);
	dump_commands(cmds, "", out);
}
