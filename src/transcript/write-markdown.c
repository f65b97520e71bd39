/*
 * Writes Markdown for Obsidian and GitHub: front matter, a heading per turn, tool calls folded.
 * Messages are Markdown already and are copied; only a line that looks like one of these headings
 * is escaped.
 */
#include "transcript/writers.h"

#include <string.h>

#define HEADING_MAX 16 /* length of a line's start that may be a heading */

enum role { NOBODY, USER, ASSISTANT };

struct markdown {
	struct tr_writer w; /* must be first: the callback finds its owner by it */
	struct tr_out *o;
	struct tr_style style;
	enum role role;
	char start[HEADING_MAX + 1]; /* held-back start of the line */
	size_t n_start;
	bool in_line; /* past a possible heading */
};

static const char *const headings[] = {"## user", "## assistant"};

static bool may_become_heading(const struct markdown *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++)
		if (m->n_start <= strlen(headings[i]) &&
		    memcmp(headings[i], m->start, m->n_start) == 0)
			return true;
	return false;
}

static void release(struct markdown *m)
{
	m->start[m->n_start] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++)
		if (streq(m->start, headings[i]))
			tr_puts(m->o, "\\");
	tr_put(m->o, m->start, m->n_start);
	m->n_start = 0;
	m->in_line = true;
}

static void line_starts(struct markdown *m)
{
	m->n_start = 0;
	m->in_line = false;
}

static void said_piece(void *arg, const char *p, size_t n)
{
	struct markdown *m = arg;

	while (n) {
		const char *nl;
		size_t part;

		if (!m->in_line) {
			if (*p != '\n' && *p != '\r' && m->n_start < HEADING_MAX) {
				m->start[m->n_start++] = *p++;
				n--;
				if (may_become_heading(m))
					continue;
			}
			release(m);
			continue;
		}
		nl = memchr(p, '\n', n);
		part = nl ? (size_t)(nl - p) + 1 : n;
		tr_put(m->o, p, part);
		p += part;
		n -= part;
		if (nl)
			line_starts(m);
	}
}

static void turn(struct markdown *m, enum role r)
{
	if (m->role == r)
		return;
	m->role = r;
	tr_printf(m->o, "%s\n\n", headings[r == ASSISTANT]);
}

static void said(struct markdown *m, const struct tr_item *i)
{
	turn(m, i->kind == TR_USER ? USER : ASSISTANT);
	line_starts(m);
	tr_text(m->o, i->text, said_piece, m);
	if (!m->in_line)
		release(m);
	tr_puts(m->o, "\n\n");
}

/* Returns the length of a fence that nothing in the text can close. */
static size_t fence_len(const struct buf *b)
{
	size_t longest = 2, run = 0;

	for (size_t i = 0; i < b->len; i++) {
		run = b->data[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest + 1;
}

static void fence(struct markdown *m, size_t n, const char *after)
{
	while (n--)
		tr_puts(m->o, "`");
	tr_puts(m->o, after);
}

static void put_html(struct tr_out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (s[i]) {
		case '<':
			tr_puts(o, "&lt;");
			break;
		case '>':
			tr_puts(o, "&gt;");
			break;
		case '&':
			tr_puts(o, "&amp;");
			break;
		default:
			tr_put(o, s + i, 1);
			break;
		}
	}
}

/* Writes <details> with a title and a code block. */
static void folded(struct markdown *m, struct buf *title, const struct buf *code, size_t over)
{
	size_t n = fence_len(code);

	tr_puts(m->o, "<details><summary>");
	put_html(m->o, buf_str(title), title->len);
	tr_puts(m->o, "</summary>\n\n");
	fence(m, n, "text\n");
	tr_put(m->o, code->data ? code->data : "", code->len);
	if (code->len == 0 || code->data[code->len - 1] != '\n')
		tr_puts(m->o, "\n");
	if (over)
		tr_printf(m->o, "… %zu bytes more\n", over);
	fence(m, n, "\n\n</details>\n\n");
}

static void called(struct markdown *m, const struct tr_item *i)
{
	cleanup_buf struct buf title, code, inside;
	struct jtext args;

	buf_init(&title, 1 * KiB);
	buf_init(&code, 64 * (m->style.result_max + 1 * KiB));
	buf_init(&inside, TR_RESULT_MAX_LIMIT + 8);
	turn(m, ASSISTANT);
	args = tr_unwrapped(i->text, &inside);
	tr_call_title(m->o, i->name, args, &title);
	tr_arguments(m->o, args, &code, m->style.result_max);
	folded(m, &title, &code, 0);
}

static void resulted(struct markdown *m, const struct tr_item *i)
{
	cleanup_buf struct buf title, code;
	size_t over;

	buf_init(&title, 1 * KiB);
	buf_init(&code, m->style.result_max + 8);
	turn(m, ASSISTANT);
	(void)buf_puts(&title, i->error ? "result: failed" : "result");
	over = tr_text_cut(m->o, i->text, &code, m->style.result_max);
	folded(m, &title, &code, over);
}

static void thought(struct markdown *m, const struct tr_item *i)
{
	cleanup_buf struct buf title, code;
	size_t over;

	buf_init(&title, 1 * KiB);
	buf_init(&code, m->style.result_max + 8);
	over = tr_text_cut(m->o, i->text, &code, m->style.result_max);
	if (code.len == 0)
		return;
	turn(m, ASSISTANT);
	(void)buf_puts(&title, "thinking");
	folded(m, &title, &code, over);
}

static void item(struct tr_writer *w, const struct tr_item *i)
{
	struct markdown *m = (struct markdown *)w;

	switch (i->kind) {
	case TR_USER:
	case TR_ASSISTANT:
		said(m, i);
		break;
	case TR_THINKING:
		if (m->style.thinking)
			thought(m, i);
		break;
	case TR_CALL:
		called(m, i);
		break;
	case TR_RESULT:
		resulted(m, i);
		break;
	case TR_NOTE:
		tr_printf(m->o, "> *%s*\n\n", i->note);
		m->role = NOBODY;
		break;
	case TR_KIND_N:
		break;
	}
}

static struct tr_writer *begin(struct tr_out *o, const struct tr_style *style)
{
	struct markdown *m = xcalloc(1, sizeof(*m));

	m->w.item = item;
	m->o = o;
	m->style = *style;
	return &m->w;
}

static void end(struct tr_writer *w)
{
	free(w);
}

static void field(struct tr_out *o, const char *name, const char *value)
{
	cleanup_free char *clean = tr_clean(o, value ? value : "");
	cleanup_buf struct buf b;

	buf_init(&b, 8 * KiB);
	if (!*clean)
		return;
	(void)buf_put_quoted(&b, clean);
	tr_printf(o, "%s: %s\n", name, buf_str(&b));
}

static void count(struct tr_out *o, const char *name, uint64_t n)
{
	if (n)
		tr_printf(o, "%s: %llu\n", name, (unsigned long long)n);
}

static void head(struct tr_out *o, const struct tr_head *h, const struct tr_source *s)
{
	const struct tr_tokens *t = &h->tokens;

	tr_puts(o, "---\n");
	field(o, "agent", s->agent);
	field(o, "version", h->version);
	field(o, "model", h->model);
	field(o, "id", h->id);
	field(o, "parent", h->parent);
	field(o, "workspace", h->workspace);
	field(o, "branch", h->branch);
	field(o, "start", h->start);
	field(o, "end", h->end);
	tr_printf(o, "tokens: {input: %llu, output: %llu, cache_read: %llu, cache_write: %llu}\n",
		  (unsigned long long)t->input, (unsigned long long)t->output,
		  (unsigned long long)t->cache_read, (unsigned long long)t->cache_write);
	if (h->micro_usd)
		tr_printf(o, "cost_usd: %llu.%06llu\n",
			  (unsigned long long)(h->micro_usd / 1000000),
			  (unsigned long long)(h->micro_usd % 1000000));
	count(o, "iterations", s->iterations);
	count(o, "skipped_records", h->skipped);
	count(o, "secrets_removed", s->scrubbed);
	field(o, "source", s->file);
	field(o, "source_sha256", s->hash);
	tr_puts(o, "---\n\n");
}

static void foot(struct tr_out *o, const struct tr_source *s)
{
	for (size_t i = 0; i < s->links->n; i++)
		tr_printf(o, "- [subagent %zu](%s)\n", i + 1, s->links->v[i]);
}

const struct tr_format tr_markdown = {"md", begin, end, head, foot};
