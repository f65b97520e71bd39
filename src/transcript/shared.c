/* Functions that every format uses for an item's text. */
#include "transcript/writers.h"

#include <string.h>

#define SUMMARY_MAX 120
#define ARGUMENTS_MAX 64

static void string_pieces(struct jtext text, tr_piece_fn *fn, void *arg)
{
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, text.p, text.n);
	while (jscan_next(&j) == JSCAN_STRING) {
		fn(arg, j.text, j.len);
		if (j.last)
			break;
	}
}

/* Passes the text of an array's part, or the name of its kind. */
static void part(struct jtext p, tr_piece_fn *fn, void *arg)
{
	struct jtext text = jpick_one(p, "text"), type = jpick_one(p, "type");

	if (jtext_is_string(p)) {
		string_pieces(p, fn, arg);
	} else if (jtext_is_string(text)) {
		string_pieces(text, fn, arg);
	} else if (jtext_is_string(type)) {
		fn(arg, "[", 1);
		string_pieces(type, fn, arg);
		fn(arg, "]", 1);
	}
}

static void text_each(struct jtext text, tr_piece_fn *fn, void *arg)
{
	struct jtext p;
	size_t at = 0;

	if (jtext_is_string(text)) {
		string_pieces(text, fn, arg);
	} else if (jtext_is_array(text)) {
		for (bool first = true; jpick_each(text, &at, &p); first = false) {
			if (!first)
				fn(arg, "\n", 1);
			part(p, fn, arg);
		}
	} else if (text.n) {
		fn(arg, text.p, text.n);
	}
}

void tr_text(struct tr_out *o, struct jtext text, tr_piece_fn *fn, void *arg)
{
	tr_filter_begin(&o->filter, fn, arg);
	text_each(text, tr_filter_put, &o->filter);
	tr_filter_end(&o->filter);
}

struct cut {
	struct buf *b;
	size_t left, over;
};

static void cut_piece(void *arg, const char *p, size_t n)
{
	struct cut *c = arg;
	size_t part_n = n < c->left ? n : c->left;

	/* The cut must not be inside of a character. */
	while (part_n < n && part_n > 0 && ((unsigned char)p[part_n] & 0xc0) == 0x80)
		part_n--;
	(void)buf_append(c->b, p, part_n);
	c->left = part_n < n ? 0 : c->left - part_n;
	c->over += n - part_n;
}

/* The beginning of the text as it is; returns about how many bytes more there are. */
static size_t raw_cut(struct jtext text, struct buf *b, size_t max)
{
	struct cut c = {b, max, 0};

	/* Text far beyond the limit is not parsed: its remaining length is an estimate. */
	if (jtext_is_string(text) && text.n > 8 * max + 64) {
		(void)jtext_append(text, b, max);
		return text.n - max;
	}
	text_each(text, cut_piece, &c);
	return c.over;
}

static void append(void *arg, const char *p, size_t n)
{
	(void)buf_append(arg, p, n);
}

static void filter_all(struct tr_out *o, const char *p, size_t n, struct buf *b)
{
	tr_filter_begin(&o->filter, append, b);
	tr_filter_put(&o->filter, p, n);
	tr_filter_end(&o->filter);
}

size_t tr_text_cut(struct tr_out *o, struct jtext text, struct buf *b, size_t max)
{
	cleanup_buf struct buf raw, clean;
	struct cut c = {b, max, 0};
	size_t over, tail = 0;

	buf_init(&raw, max + 8);
	buf_init(&clean, TR_FILTERED(max + 8));
	over = raw_cut(text, &raw, max);
	filter_all(o, raw.data, raw.len, &clean);
	/* A cut may leave the beginning of a secret, which nothing tells from another word. */
	if (over)
		tail = tr_filter_tail(&o->filter, clean.data, clean.len);
	cut_piece(&c, clean.data, clean.len - tail);
	return over + c.over + tail;
}

static void indented(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || s[i - 1] == '\n')
			(void)buf_puts(b, "  ");
		(void)buf_putc(b, s[i]);
	}
}

static void argument(struct tr_out *o, struct jtext key, struct jtext value, struct buf *b,
		     size_t max)
{
	cleanup_buf struct buf text;
	size_t over;

	buf_init(&text, max + 8);
	over = tr_text_cut(o, value, &text, max);
	filter_all(o, key.p, key.n, b);
	if (text.len && memchr(text.data, '\n', text.len)) {
		(void)buf_puts(b, ": |\n");
		indented(b, text.data, text.len);
	} else {
		(void)buf_puts(b, ": ");
		(void)buf_append(b, buf_str(&text), text.len);
	}
	if (over)
		(void)buf_printf(b, "\n  … %zu bytes more", over);
	(void)buf_putc(b, '\n');
}

void tr_arguments(struct tr_out *o, struct jtext args, struct buf *b, size_t max)
{
	struct jtext key, value;
	size_t at = 0, n = 0;

	if (!jtext_is_object(args)) {
		size_t over = tr_text_cut(o, args, b, max);

		(void)buf_putc(b, '\n');
		if (over)
			(void)buf_printf(b, "… %zu bytes more\n", over);
		return;
	}
	while (n++ < ARGUMENTS_MAX && jpick_member(args, &at, &key, &value))
		argument(o, key, value, b, max);
}

static void summary(struct tr_out *o, struct jtext args, struct buf *b)
{
	static const char *const telling[] = {"command",     "cmd",	"file_path", "filePath",
					      "path",	     "pattern", "url",	     "query",
					      "description", "prompt"};
	struct jtext v[ARRAY_SIZE(telling)];
	size_t start = b->len;

	if (jtext_is_object(args) && jpick(args, telling, v, ARRAY_SIZE(telling)))
		for (size_t i = 0; i < ARRAY_SIZE(telling) && b->len == start; i++)
			if (jtext_is_string(v[i]))
				(void)tr_text_cut(o, v[i], b, SUMMARY_MAX);
	for (size_t i = start; i < b->len; i++)
		if ((unsigned char)b->data[i] < ' ')
			b->data[i] = ' ';
}

/* Codex passes arguments as JSON in a string. */
struct jtext tr_unwrapped(struct jtext args, struct buf *b)
{
	struct jtext inner;

	if (!jtext_is_string(args) || jtext_append(args, b, TR_RESULT_MAX_LIMIT) != 0)
		return args;
	inner = (struct jtext){buf_str(b), b->len};
	return jpick(inner, NULL, NULL, 0) ? inner : args;
}

void tr_call_title(struct tr_out *o, struct jtext name, struct jtext args, struct buf *b)
{
	(void)tr_text_cut(o, name, b, SUMMARY_MAX);
	if (b->len == 0)
		(void)buf_puts(b, "tool");
	(void)buf_puts(b, ": ");
	summary(o, args, b);
	if (b->data[b->len - 1] == ' ')
		b->len -= 2;
}

const struct tr_format *tr_format_find(const char *name)
{
	static const struct tr_format *const formats[] = {&tr_markdown, &tr_json, &tr_html};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (streq(formats[i]->name, name))
			return formats[i];
	return NULL;
}
