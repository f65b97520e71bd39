#include "config/scan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/text/suggest.h"

struct scan {
	const char *name, *text;
	size_t len;
	yaml_parser_t parser;
	yaml_event_t ev;
	struct marks *marks;
	struct err *err;
};

#define ID_ITEMS ((uint64_t)2 * CONFIG_LIST_MAX)

uint64_t mark_id(enum key_id key, int item, int field, int sub)
{
	uint64_t id = (uint64_t)key;

	id = id * ID_ITEMS + (uint64_t)(item + 1);
	id = id * 16 + (uint64_t)(field + 1);
	return id * ID_ITEMS + (uint64_t)(sub + 1);
}

static int mark_cmp(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct mark marks_get(const struct marks *m, uint64_t id)
{
	struct mark key = {.id = id};
	struct mark *found = m->n ? bsearch(&key, m->v, m->n, sizeof(key), mark_cmp) : NULL;

	return found ? *found : key;
}

void marks_done(struct marks *m)
{
	free(m->v);
	*m = (struct marks){0};
}

static void marks_add(struct scan *s, uint64_t id)
{
	struct marks *m = s->marks;

	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 32;
		m->v = xrealloc(m->v, m->cap, sizeof(*m->v));
	}
	m->v[m->n++] = (struct mark){id, (unsigned)s->ev.start_mark.line + 1,
				     (unsigned)s->ev.start_mark.column + 1};
}

/* Puts "file:line:column: " in front of the message that is there. */
static int fail_at(struct scan *s, int r, size_t line, size_t column)
{
	return err_wrap(s->err, r, "%s:%zu:%zu", s->name, line + 1, column + 1);
}

/* The same, at the event that is being looked at, and with the key it belongs to. */
static int fail_here(struct scan *s, int r, const char *key)
{
	if (*key)
		r = err_wrap(s->err, r, "%s", key);
	return fail_at(s, r, s->ev.start_mark.line, s->ev.start_mark.column);
}

/* Bytes of the UTF-8 character at p, 0 when it is none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	unsigned lo = 0x80, hi = 0xbf;

	if (n == 0 || p[0] > 0xf4 || n > left)
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	if (p[0] == 0xed)
		hi = 0x9f;
	if (p[0] == 0xf0)
		lo = 0x90;
	if (p[0] == 0xf4)
		hi = 0x8f;
	for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xbf)
		if (p[i] < lo || p[i] > hi)
			return 0;
	return n;
}

/* The line and column of a byte, both from 0. */
static void locate(const char *text, size_t at, size_t *line, size_t *column)
{
	*line = *column = 0;
	for (size_t i = 0; i < at; i++) {
		if (text[i] == '\n') {
			(*line)++;
			*column = 0;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			(*column)++;
		}
	}
}

static int check_bytes(struct scan *s)
{
	const unsigned char *p = (const unsigned char *)s->text;
	size_t line, column;
	int r;

	for (size_t i = 0; i < s->len;) {
		size_t n = utf8_len(p + i, s->len - i);

		if (n > 0 && p[i] != 0) {
			i += n;
			continue;
		}
		locate(s->text, i, &line, &column);
		if (n > 0)
			r = err_usage(s->err, "a NUL byte; save the file as text");
		else
			r = err_usage(s->err, "not valid UTF-8; save the file as UTF-8");
		return fail_at(s, r, line, column);
	}
	return 0;
}

static int syntax_error(struct scan *s)
{
	const yaml_parser_t *p = &s->parser;
	const char *what = p->problem ? p->problem : "cannot be read";
	size_t line = p->problem_mark.line, column = p->problem_mark.column;
	const char *fix = "check quotes, brackets and indentation";

	if (p->error == YAML_READER_ERROR)
		locate(s->text, p->problem_offset < s->len ? p->problem_offset : s->len, &line,
		       &column);
	if (strstr(what, "cannot start any token"))
		fix = "quote a value that begins with '@', '`' or '%', and indent with spaces";
	if (strstr(what, "alphabetic or numeric"))
		fix = "quote a pattern that begins with '*'";
	return fail_at(s, err_usage(s->err, "not valid YAML: %s; %s", what, fix), line, column);
}

static int refuse_extras(struct scan *s, const char *key)
{
	const yaml_event_t *ev = &s->ev;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (ev->type == YAML_ALIAS_EVENT)
		return fail_here(s,
				 err_usage(s->err,
					   "an alias ('*%.60s') is not allowed; quote a pattern "
					   "that begins with '*'",
					   (const char *)ev->data.alias.anchor),
				 key);
	if (ev->type == YAML_SCALAR_EVENT) {
		anchor = ev->data.scalar.anchor;
		tag = ev->data.scalar.tag;
	} else if (ev->type == YAML_SEQUENCE_START_EVENT) {
		anchor = ev->data.sequence_start.anchor;
		tag = ev->data.sequence_start.tag;
	} else if (ev->type == YAML_MAPPING_START_EVENT) {
		anchor = ev->data.mapping_start.anchor;
		tag = ev->data.mapping_start.tag;
	}
	if (anchor)
		return fail_here(s,
				 err_usage(s->err,
					   "an anchor ('&%.60s') is not allowed; quote it, "
					   "or write the value out",
					   (const char *)anchor),
				 key);
	if (tag)
		return fail_here(s, err_usage(s->err, "a tag ('!…') is not allowed; remove it"),
				 key);
	if (ev->type == YAML_SCALAR_EVENT &&
	    memchr(ev->data.scalar.value, 0, ev->data.scalar.length))
		return fail_here(s, err_usage(s->err, "holds a NUL character; remove it"), key);
	return 0;
}

/* The next event into s->ev; key is what it belongs to, for messages. */
static int next(struct scan *s, const char *key)
{
	yaml_event_delete(&s->ev);
	if (!yaml_parser_parse(&s->parser, &s->ev)) {
		memset(&s->ev, 0, sizeof(s->ev));
		return syntax_error(s);
	}
	return refuse_extras(s, key);
}

static bool is_null(const yaml_event_t *ev)
{
	const char *v = (const char *)ev->data.scalar.value;

	return ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*v || streq(v, "~") || streq(v, "null") || streq(v, "Null") || streq(v, "NULL"));
}

static int want_scalar(struct scan *s, const char *key)
{
	if (s->ev.type != YAML_SCALAR_EVENT)
		return fail_here(
			s, err_usage(s->err, "one value is expected, not a list or section"), key);
	if (is_null(&s->ev))
		return fail_here(s, err_usage(s->err, "has no value; give one or remove the key"),
				 key);
	return 0;
}

static int want_list(struct scan *s, const char *key)
{
	if (s->ev.type == YAML_SEQUENCE_START_EVENT)
		return 0;
	return fail_here(s, err_usage(s->err, "a list is expected; write [a, b], or [] for none"),
			 key);
}

/* The entries of a list of plain values; its start has been read. */
static int scan_words(struct scan *s, enum key_id id, int item, int field, const char *key)
{
	int r;

	for (int i = 0;; i++) {
		r = next(s, key);
		if (r < 0)
			return r;
		if (s->ev.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		r = want_scalar(s, key);
		if (r < 0)
			return r;
		if (i == CONFIG_LIST_MAX)
			return fail_here(s,
					 err_usage(s->err, "more than %d entries; shorten it",
						   CONFIG_LIST_MAX),
					 key);
		marks_add(s, field < 0 ? mark_id(id, i, MARK_NONE, MARK_NONE)
				       : mark_id(id, item, field, i));
	}
}

static int unknown_field(struct scan *s, const struct key_field *fields, size_t n, const char *key)
{
	const char *names[FIELDS_MAX], *near, *word = (const char *)s->ev.data.scalar.value;
	int r;

	for (size_t i = 0; i < n; i++)
		names[i] = fields[i].name;
	near = suggest(word, names, n);
	if (near)
		r = err_usage(s->err, "unknown key; did you mean '%s'?", near);
	else
		r = err_usage(s->err, "unknown key; ralph-config(5) lists the keys");
	r = err_wrap(s->err, r, "%s.%.60s", key, word);
	return fail_here(s, r, "");
}

/* One field of an entry of mounts or network.rules; its name is the current event. */
static int scan_field(struct scan *s, enum key_id id, int item, unsigned *seen)
{
	size_t n;
	const struct key_field *fields = key_fields(keys[id].type, &n);
	const char *word = (const char *)s->ev.data.scalar.value;
	char key[64];
	int f = 0, r;

	while ((size_t)f < n && !streq(fields[f].name, word))
		f++;
	if ((size_t)f == n)
		return unknown_field(s, fields, n, keys[id].name);
	(void)snprintf(key, sizeof(key), "%s.%s", keys[id].name, fields[f].name);
	if (*seen & 1U << f)
		return fail_here(s, err_usage(s->err, "given twice; remove one of them"), key);
	*seen |= 1U << f;
	r = next(s, key);
	if (r < 0)
		return r;
	marks_add(s, mark_id(id, item, f, MARK_NONE));
	if (!fields[f].list)
		return want_scalar(s, key);
	r = want_list(s, key);
	return r < 0 ? r : scan_words(s, id, item, f, key);
}

static int scan_entry(struct scan *s, enum key_id id, int item)
{
	yaml_mark_t start = s->ev.start_mark;
	unsigned seen = 0;
	size_t n;
	const struct key_field *fields = key_fields(keys[id].type, &n);
	int r;

	for (;;) {
		r = next(s, keys[id].name);
		if (r < 0)
			return r;
		if (s->ev.type == YAML_MAPPING_END_EVENT)
			break;
		if (s->ev.type != YAML_SCALAR_EVENT)
			return fail_here(s, err_usage(s->err, "a key must be a plain word"),
					 keys[id].name);
		r = scan_field(s, id, item, &seen);
		if (r < 0)
			return r;
	}
	for (size_t f = 0; f < n; f++) {
		if (!fields[f].required || (seen & 1U << f))
			continue;
		r = err_usage(s->err, "'%s' is missing; add it", fields[f].name);
		r = err_wrap(s->err, r, "%s", keys[id].name);
		return fail_at(s, r, start.line, start.column);
	}
	return 0;
}

/* The entries of mounts or network.rules; the start of the list has been read. */
static int scan_entries(struct scan *s, enum key_id id)
{
	const char *key = keys[id].name;
	size_t n;
	const struct key_field *fields = key_fields(keys[id].type, &n);
	int r;

	for (int i = 0;; i++) {
		r = next(s, key);
		if (r < 0)
			return r;
		if (s->ev.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (s->ev.type != YAML_MAPPING_START_EVENT)
			return fail_here(s,
					 err_usage(s->err, "each entry has keys; write {%s: …}",
						   fields[0].name),
					 key);
		if (i == CONFIG_LIST_MAX)
			return fail_here(s,
					 err_usage(s->err, "more than %d entries; shorten it",
						   CONFIG_LIST_MAX),
					 key);
		marks_add(s, mark_id(id, i, MARK_NONE, MARK_NONE));
		r = scan_entry(s, id, i);
		if (r < 0)
			return r;
	}
}

static int scan_value(struct scan *s, enum key_id id)
{
	const char *key = keys[id].name;
	int r = next(s, key);

	if (r < 0)
		return r;
	marks_add(s, mark_id(id, MARK_NONE, MARK_NONE, MARK_NONE));
	if (keys[id].type == KEY_PROVIDER) {
		if (s->ev.type != YAML_MAPPING_START_EVENT)
			return fail_here(s,
					 err_usage(s->err, "is a section; put its keys below it, "
							   "indented"),
					 key);
		return scan_entry(s, id, 0);
	}
	if (!key_is_list(id))
		return want_scalar(s, key);
	r = want_list(s, key);
	if (r < 0)
		return r;
	return keys[id].type == KEY_LIST ? scan_words(s, id, MARK_NONE, MARK_NONE, key)
					 : scan_entries(s, id);
}

/* The first key of the section that is called word, or KEY_N. */
static enum key_id find_section(const char *word)
{
	size_t len = strlen(word);
	enum key_id id = 0;

	while (id < KEY_N &&
	       !(len && key_section(&keys[id]) == len && memcmp(keys[id].name, word, len) == 0))
		id++;
	return id;
}

static int scan_section(struct scan *s, const char *section);

/* One key with its value, at the top or in a section; its name is the current event. */
static int scan_key(struct scan *s, const char *section, uint64_t *seen)
{
	char name[80], hint[128];
	const char *word = (const char *)s->ev.data.scalar.value;
	enum key_id id, sub = *section ? KEY_N : find_section(word);
	int r;

	(void)snprintf(name, sizeof(name), "%s%s%.48s", section, *section ? "." : "", word);
	id = sub < KEY_N ? sub : strchr(word, '.') ? KEY_N : key_find(name, strlen(name));
	if (id == KEY_N) {
		r = err_usage(s->err, "unknown key%s",
			      key_hint(section, strlen(section), word, hint, sizeof(hint)));
		return fail_here(s, r, name);
	}
	if (*seen & (uint64_t)1 << id)
		return fail_here(s, err_usage(s->err, "given twice; remove one of them"), name);
	*seen |= (uint64_t)1 << id;
	if (sub == KEY_N)
		return scan_value(s, id);
	r = next(s, name);
	if (r < 0)
		return r;
	if (s->ev.type != YAML_MAPPING_START_EVENT)
		return fail_here(s,
				 err_usage(s->err, "is a section; put its keys below it, "
						   "indented"),
				 name);
	return scan_section(s, name);
}

/* The keys of a section, or of the whole file (""); the start of the mapping has been read. */
static int scan_section(struct scan *s, const char *section)
{
	uint64_t seen = 0;
	int r;

	static_assert(KEY_N <= 64, "one bit per key");
	for (;;) {
		r = next(s, section);
		if (r < 0 || s->ev.type == YAML_MAPPING_END_EVENT)
			return r;
		if (s->ev.type != YAML_SCALAR_EVENT)
			return fail_here(s, err_usage(s->err, "a key must be a plain word"),
					 section);
		r = scan_key(s, section, &seen);
		if (r < 0)
			return r;
	}
}

static int scan_document(struct scan *s, bool *ret_empty)
{
	int r = next(s, "");

	*ret_empty = true;
	if (r < 0 || s->ev.type == YAML_STREAM_END_EVENT)
		return r;
	r = next(s, "");
	if (r < 0)
		return r;
	if (s->ev.type == YAML_MAPPING_START_EVENT) {
		*ret_empty = false;
		r = scan_section(s, "");
		if (r < 0)
			return r;
	} else if (s->ev.type != YAML_SCALAR_EVENT || !is_null(&s->ev)) {
		return fail_here(
			s, err_usage(s->err, "the file must hold keys; write 'key: value'"), "");
	}
	r = next(s, "");
	if (r < 0)
		return r;
	r = next(s, "");
	if (r == 0 && s->ev.type != YAML_STREAM_END_EVENT)
		return fail_here(s, err_usage(s->err, "a second document; keep one per file"), "");
	return r;
}

int scan_yaml(const char *name, const char *text, size_t len, struct marks *ret, bool *ret_empty,
	      struct err *err)
{
	struct scan s = {.name = name, .text = text, .len = len, .marks = ret, .err = err};
	int r = check_bytes(&s);

	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&s.parser))
		abort();
	yaml_parser_set_input_string(&s.parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&s.parser, YAML_UTF8_ENCODING);
	r = next(&s, ""); /* the start of the stream */
	if (r == 0)
		r = scan_document(&s, ret_empty);
	yaml_event_delete(&s.ev);
	yaml_parser_delete(&s.parser);
	if (r == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), mark_cmp);
	return r;
}
