#include "cli/project-trust.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/terminal/ask.h"
#include "base/text/table.h"
#include "config/trust.h"
#include "image/image-source.h"
#include "compose/resource-limits.h"

static int compare(struct trust_state *t, struct err *err)
{
	char sha256[TRUST_HASH_LEN + 1];
	struct trust record = {0};
	int r = trust_get(t->dir, t->project, &record, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	trust_hash(buf_str(&t->text), t->text.len, sha256);
	t->trusted = streq(sha256, record.sha256);
	t->changed = !t->trusted;
	trust_done(&record);
	return 0;
}

int trust_look(const struct places *p, struct config_sources *src, struct trust_state *ret,
	       struct err *err)
{
	cleanup_free char *ralph_dir = path_dir(src->project_file), *dir = path_dir(ralph_dir);
	bool there = false;
	int r;

	*ret = (struct trust_state){0};
	buf_init(&ret->text, CONFIG_FILE_MAX);
	r = config_project_read(src->project_file, &ret->text, &there, err);
	if (r < 0 || !there) {
		src->project_file = NULL;
		return r;
	}
	ret->dir = path_join(p->state, "trust");
	r = path_real(dir, &ret->project, err);
	if (r == 0)
		r = compare(ret, err);
	if (r == 0)
		r = limits_memory_share(&src->memory_share, err);
	if (r < 0)
		return r;
	src->project_text = buf_str(&ret->text);
	src->project_len = ret->text.len;
	src->trusted = ret->trusted;
	return config_widenings(src, &ret->widenings, &ret->n_widenings, err);
}

void trust_state_done(struct trust_state *t)
{
	free(t->project);
	free(t->dir);
	buf_done(&t->text);
	config_widenings_free(t->widenings, t->n_widenings);
	*t = (struct trust_state){0};
}

static void show_widenings(const struct trust_state *t, bool color)
{
	static const struct table_column columns[] = {
		{NULL, .keep = true}, {NULL, .keep = true}, {NULL, .keep = true}};
	cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < t->n_widenings; i++) {
		table_cellf(table, "  line %u", t->widenings[i].line);
		table_styled(table, STYLE_YELLOW, t->widenings[i].key);
		table_cell(table, t->widenings[i].value);
	}
	table_print(table, stderr, 0, color);
}

static int load(const struct config_sources *src, bool with, struct config_entry **ret,
		size_t *ret_n, struct err *err)
{
	cleanup_(config_freep) struct config *c = NULL;
	struct config_sources s = *src;
	int r;

	s.trusted = with;
	if (!with) {
		s.project_file = s.project_text = NULL;
		s.project_len = 0;
	}
	r = config_load(&s, &c, err);
	return r < 0 ? r : config_entries(c, ret, ret_n);
}

/* The settings that would be other ones: what a profile brings that the file names is here too. */
static int show_change(const struct config_sources *src, bool color, struct err *err)
{
	static const struct table_column columns[] = {{NULL, .keep = true},
						      {NULL, .keep = true},
						      {NULL, .keep = true},
						      {NULL, .keep = true}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	struct config_entry *now = NULL, *then = NULL;
	size_t n = 0, m = 0;
	int r = load(src, false, &now, &n, err);

	if (r == 0)
		r = load(src, true, &then, &m, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (streq(now[i].value, then[i].value))
			continue;
		table_cellf(t, "  %s", now[i].key);
		table_cell(t, now[i].value);
		table_cell(t, "→");
		table_cell(t, then[i].value);
	}
	if (r == 0) {
		(void)fputs("With it, these settings change:\n", stderr);
		table_print(t, stderr, 0, color);
	}
	config_entries_free(now, n);
	config_entries_free(then, m);
	return r;
}

int trust_show(struct cli *cli, const struct config_sources *src, const struct trust_state *t)
{
	bool color = cli_color(cli, STDERR_FILENO);

	term_styled(stderr, color, STYLE_BOLD, src->project_file);
	(void)fputs(t->changed ? " was trusted and has changed. It asks for more than your own "
				 "settings allow:\n"
			       : " asks for more than your own settings allow:\n",
		    stderr);
	show_widenings(t, color);
	return show_change(src, color, &cli->err);
}

/* Line by line, escaped: whoever wrote the project wrote it. */
static void show_lines(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);

		(void)fputs("  ", stderr);
		term_puts(stderr, line);
		(void)fputc('\n', stderr);
		text += n + (text[n] == '\n');
	}
}

void trust_show_image(struct cli *cli, const struct image_source *s)
{
	bool color = cli_color(cli, STDERR_FILENO);
	const char *manifest = s->manifest.data;

	term_styled(stderr, color, STYLE_BOLD, s->dockerfile);
	(void)fputs(
		s->changed ? " was trusted, and it or its context has changed. A build runs this:\n"
			   : " is what an image would be built from. A build runs this:\n",
		stderr);
	show_lines(s->text.len ? s->text.data : "");
	if (!s->context)
		return;
	(void)fputs("with these files of ", stderr);
	term_styled(stderr, color, STYLE_BOLD, s->context);
	(void)fputs(" (kind, permissions, SHA-256 or link, path):\n", stderr);
	/* The first two lines are about the Dockerfile. */
	for (int i = 0; i < 2; i++)
		manifest += strcspn(manifest, "\n") + 1;
	show_lines(manifest);
}

int trust_settle(struct cli *cli, struct config_sources *src, struct trust_state *t)
{
	bool yes = false;
	int r;

	if (t->trusted || t->n_widenings == 0 || cli->yes || !ask_possible())
		return 0;
	r = trust_show(cli, src, t);
	if (r == 0)
		r = ask("Trust exactly this content?", false, &yes, &cli->err);
	if (r < 0 || !yes)
		return r;
	r = trust_set(t->dir, t->project, buf_str(&t->text), t->text.len, &cli->err);
	if (r < 0)
		return r;
	t->trusted = src->trusted = true;
	return 0;
}
