#include "config/scan.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/text/suggest.h"

/* A section is known by its first key, one of old names by KEY_N more. */
#define SECTION_NONE (2 * (size_t)KEY_N)

struct scan {
	const char *name, *text;
	size_t len;
	const struct key *rows; /* for the old names */
	yaml_parser_t parser;
	yaml_event_t ev;
	struct scan_value *values;
	bool sections[SECTION_NONE]; /* those that were given */
	struct strv *notices;
	struct err *err;
};

void scan_value_done(struct scan_value *v)
{
	for (size_t i = 0; i < v->n; i++)
		scan_value_done(&v->v[i]);
	free(v->v);
	free(v->text);
	*v = (struct scan_value){0};
}

static void take_place(const struct scan *s, struct scan_value *v)
{
	v->line = (unsigned)s->ev.start_mark.line + 1;
	v->column = (unsigned)s->ev.start_mark.column + 1;
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

static int take_scalar(struct scan *s, const char *key, struct scan_value *v)
{
	if (s->ev.type != YAML_SCALAR_EVENT)
		return fail_here(
			s, err_usage(s->err, "one value is expected, not a list or section"), key);
	if (is_null(&s->ev))
		return fail_here(s, err_usage(s->err, "has no value; give one or remove the key"),
				 key);
	v->text = xstrdup((const char *)s->ev.data.scalar.value);
	return 0;
}

static int want_list(struct scan *s, const char *key)
{
	if (s->ev.type == YAML_SEQUENCE_START_EVENT)
		return 0;
	return fail_here(s, err_usage(s->err, "a list is expected; write [a, b], or [] for none"),
			 key);
}

static int want_section(struct scan *s, const char *key)
{
	if (s->ev.type == YAML_MAPPING_START_EVENT)
		return 0;
	return fail_here(s, err_usage(s->err, "is a section; put its keys below it, indented"),
			 key);
}

/* Room for one more entry, at the place of the current event. */
static struct scan_value *add_item(const struct scan *s, struct scan_value *list)
{
	struct scan_value *item;

	if ((list->n & (list->n - 1)) == 0) /* 0 or a power of two: the room is full */
		list->v = xrealloc(list->v, list->n ? 2 * list->n : 1, sizeof(*list->v));
	item = &list->v[list->n++];
	*item = (struct scan_value){0};
	take_place(s, item);
	return item;
}

/* A key, by its name in messages, and the fields of its entries. Plain values have no fields. */
struct shape {
	const char *key;
	const struct key_field *fields;
	size_t n;
};

static int scan_entry(struct scan *s, const struct shape *shape, struct scan_value *entry);

/* The entries of a list; its start has been read. */
static int scan_list(struct scan *s, const struct shape *shape, struct scan_value *list)
{
	struct scan_value *item;
	int r;

	for (;;) {
		r = next(s, shape->key);
		if (r < 0 || s->ev.type == YAML_SEQUENCE_END_EVENT)
			return r;
		if (shape->fields && s->ev.type != YAML_MAPPING_START_EVENT)
			return fail_here(s,
					 err_usage(s->err, "each entry has keys; write {%s: …}",
						   shape->fields[0].name),
					 shape->key);
		if (list->n == CONFIG_LIST_MAX)
			return fail_here(s,
					 err_usage(s->err, "more than %d entries; shorten it",
						   CONFIG_LIST_MAX),
					 shape->key);
		item = add_item(s, list);
		r = shape->fields ? scan_entry(s, shape, item) : take_scalar(s, shape->key, item);
		if (r < 0)
			return r;
	}
}

static int unknown_field(struct scan *s, const struct shape *shape)
{
	const char *names[FIELDS_MAX], *near, *word = (const char *)s->ev.data.scalar.value;
	int r;

	for (size_t i = 0; i < shape->n; i++)
		names[i] = shape->fields[i].name;
	near = suggest(word, names, shape->n);
	if (near)
		r = err_usage(s->err, "unknown key; did you mean '%s'?", near);
	else
		r = err_usage(s->err, "unknown key; ralph-config(5) lists the keys");
	r = err_wrap(s->err, r, "%s.%.60s", shape->key, word);
	return fail_here(s, r, "");
}

/* One field of an entry of mounts or network.rules; its name is the current event. */
static int scan_field(struct scan *s, const struct shape *shape, struct scan_value *entry)
{
	const char *word = (const char *)s->ev.data.scalar.value;
	struct scan_value *v;
	char key[64];
	size_t f = 0;
	int r;

	while (f < shape->n && !streq(shape->fields[f].name, word))
		f++;
	if (f == shape->n)
		return unknown_field(s, shape);
	(void)snprintf(key, sizeof(key), "%s.%s", shape->key, shape->fields[f].name);
	v = &entry->v[f];
	if (v->line)
		return fail_here(s, err_usage(s->err, "given twice; remove one of them"), key);
	r = next(s, key);
	if (r < 0)
		return r;
	take_place(s, v);
	if (!shape->fields[f].list)
		return take_scalar(s, key, v);
	r = want_list(s, key);
	return r < 0 ? r : scan_list(s, &(struct shape){.key = key}, v);
}

/* The fields of an entry; the start of the mapping has been read. */
static int scan_entry(struct scan *s, const struct shape *shape, struct scan_value *entry)
{
	int r;

	entry->v = xcalloc(shape->n, sizeof(*entry->v));
	entry->n = shape->n;
	for (;;) {
		r = next(s, shape->key);
		if (r < 0)
			return r;
		if (s->ev.type == YAML_MAPPING_END_EVENT)
			break;
		if (s->ev.type != YAML_SCALAR_EVENT)
			return fail_here(s, err_usage(s->err, "a key must be a plain word"),
					 shape->key);
		r = scan_field(s, shape, entry);
		if (r < 0)
			return r;
	}
	for (size_t f = 0; f < shape->n; f++) {
		if (!shape->fields[f].required || entry->v[f].line)
			continue;
		r = err_usage(s->err, "'%s' is missing; add it", shape->fields[f].name);
		r = err_wrap(s->err, r, "%s", shape->key);
		return fail_at(s, r, entry->line - 1, entry->column - 1);
	}
	return 0;
}

/* {NAME: {…}, …}: entries that stand below their names; the start of the mapping has been read. */
static int scan_named(struct scan *s, const struct shape *shape, struct scan_value *list)
{
	for (;;) {
		struct scan_value *item;
		const char *word;
		int r = next(s, shape->key);

		if (r < 0 || s->ev.type == YAML_MAPPING_END_EVENT)
			return r;
		if (s->ev.type != YAML_SCALAR_EVENT)
			return fail_here(s, err_usage(s->err, "a key must be a plain word"),
					 shape->key);
		if (list->n == CONFIG_LIST_MAX)
			return fail_here(s,
					 err_usage(s->err, "more than %d entries; shorten it",
						   CONFIG_LIST_MAX),
					 shape->key);
		word = (const char *)s->ev.data.scalar.value;
		for (size_t i = 0; i < list->n; i++)
			if (streq(list->v[i].text, word))
				return fail_here(s,
						 err_usage(s->err,
							   "'%.60s' is given twice; remove one of "
							   "them",
							   word),
						 shape->key);
		item = add_item(s, list);
		item->text = xstrdup(word);
		r = next(s, shape->key);
		if (r == 0)
			r = want_section(s, shape->key);
		if (r == 0)
			r = scan_entry(s, shape, item);
		if (r < 0)
			return r;
	}
}

#define JOINED_MAX (8 * KiB)

/* [a, b] for a value that is one word: "a,b"; [] is none. */
static int join_list(struct scan *s, const struct shape *shape, struct scan_value *v)
{
	struct scan_value list = {0};
	cleanup_buf struct buf b;
	int r = scan_list(s, shape, &list);

	buf_init(&b, JOINED_MAX);
	for (size_t i = 0; i < list.n; i++) {
		(void)buf_printf(&b, "%s%s", i ? "," : "", list.v[i].text ? list.v[i].text : "");
		free(list.v[i].text);
	}
	free(list.v);
	if (r == 0 && b.full)
		r = fail_here(s, err_usage(s->err, "is too long; shorten it"), shape->key);
	if (r == 0)
		v->text = xstrdup(b.len ? buf_str(&b) : "none");
	return r;
}

static int scan_value(struct scan *s, enum key_id id)
{
	struct shape shape = {.key = keys[id].name};
	struct scan_value *v = &s->values[id];
	int r = next(s, shape.key);

	if (r < 0)
		return r;
	take_place(s, v);
	shape.fields = key_fields(keys[id].type, &shape.n);
	if (keys[id].type == KEY_PROVIDER) {
		r = want_section(s, shape.key);
		return r < 0 ? r : scan_entry(s, &shape, v);
	}
	if (keys[id].type == KEY_PLACE) {
		r = want_section(s, shape.key);
		return r < 0 ? r : scan_named(s, &shape, v);
	}
	if (keys[id].joined && s->ev.type == YAML_SEQUENCE_START_EVENT)
		return join_list(s, &shape, v);
	if (!key_is_list(id))
		return take_scalar(s, shape.key, v);
	r = want_list(s, shape.key);
	return r < 0 ? r : scan_list(s, &shape, v);
}

static bool in_section(const char *name, const char *section, size_t len)
{
	return name && len && strncmp(name, section, len) == 0 && name[len] == '.';
}

static size_t find_section(const struct scan *s, const char *word)
{
	size_t len = strlen(word), i = 0;

	while (i < KEY_N && !in_section(keys[i].name, word, len))
		i++;
	while (i >= KEY_N && i < SECTION_NONE && !in_section(s->rows[i - KEY_N].was, word, len))
		i++;
	return i;
}

static enum key_id find_key(struct scan *s, const char *name)
{
	enum key_id id = key_find(name, strlen(name));

	if (id < KEY_N)
		return id;
	id = key_find_was(s->rows, name, strlen(name));
	if (id < KEY_N)
		strv_pushf(s->notices, "%s:%zu: " KEY_RENAMED, s->name, s->ev.start_mark.line + 1,
			   name, keys[id].name);
	return id;
}

static int scan_section(struct scan *s, const char *section);

/* One key with its value, at the top or in a section; its name is the current event. */
static int scan_key(struct scan *s, const char *section)
{
	char name[80], hint[128];
	const char *word = (const char *)s->ev.data.scalar.value;
	size_t sub = *section ? SECTION_NONE : find_section(s, word);
	enum key_id id = KEY_N;
	int r;

	(void)snprintf(name, sizeof(name), "%s%s%.48s", section, *section ? "." : "", word);
	if (sub == SECTION_NONE && !strchr(word, '.'))
		id = find_key(s, name);
	if (sub == SECTION_NONE && id == KEY_N) {
		r = err_usage(s->err, "unknown key%s",
			      key_hint(section, strlen(section), word, hint, sizeof(hint)));
		return fail_here(s, r, name);
	}
	if (sub < SECTION_NONE ? s->sections[sub] : s->values[id].line > 0)
		return fail_here(s, err_usage(s->err, "given twice; remove one of them"), name);
	if (sub == SECTION_NONE)
		return scan_value(s, id);
	s->sections[sub] = true;
	r = next(s, name);
	if (r == 0)
		r = want_section(s, name);
	return r < 0 ? r : scan_section(s, name);
}

/* The keys of a section, or of the whole file (""); the start of the mapping has been read. */
static int scan_section(struct scan *s, const char *section)
{
	int r;

	for (;;) {
		r = next(s, section);
		if (r < 0 || s->ev.type == YAML_MAPPING_END_EVENT)
			return r;
		if (s->ev.type != YAML_SCALAR_EVENT)
			return fail_here(s, err_usage(s->err, "a key must be a plain word"),
					 section);
		r = scan_key(s, section);
		if (r < 0)
			return r;
	}
}

static int scan_document(struct scan *s)
{
	int r = next(s, "");

	if (r < 0 || s->ev.type == YAML_STREAM_END_EVENT)
		return r;
	r = next(s, "");
	if (r < 0)
		return r;
	if (s->ev.type == YAML_MAPPING_START_EVENT) {
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

int scan_yaml(const char *name, const char *text, size_t len, const struct key *rows,
	      struct scan_value *values, struct strv *notices, struct err *err)
{
	struct scan s = {.name = name,
			 .text = text,
			 .len = len,
			 .rows = rows,
			 .values = values,
			 .notices = notices,
			 .err = err};
	int r = check_bytes(&s);

	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&s.parser))
		abort();
	yaml_parser_set_input_string(&s.parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&s.parser, YAML_UTF8_ENCODING);
	r = next(&s, ""); /* the start of the stream */
	if (r == 0)
		r = scan_document(&s);
	yaml_event_delete(&s.ev);
	yaml_parser_delete(&s.parser);
	return r;
}
