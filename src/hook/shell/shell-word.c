#include "hook/shell/shell-lex.h"

#include <ctype.h>
#include <string.h>

#include "hook/shell/marks.h"

void shell_init(struct shell *s, struct arena *a, const char *text, size_t len)
{
	*s = (struct shell){.arena = a, .p = text, .end = text + len};
	s->pending_end = &s->pending;
}

void shell_deeper(struct shell *s)
{
	if (++s->depth > SHELL_DEPTH)
		arena_give_up(s->arena, "it is nested too deeply");
}

bool shell_is_name(const char *s, size_t n)
{
	if (n == 0 || isdigit((unsigned char)s[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return true;
}

struct shell_part *word_part(struct making *m, enum shell_part_kind kind, bool quoted)
{
	struct shell_part *part = arena_alloc(m->s->arena, sizeof(*part));

	part->kind = kind;
	part->quoted = quoted;
	if (m->w->last)
		m->w->last->next = part;
	else
		m->w->first = part;
	m->w->last = part;
	return part;
}

void word_flush(struct making *m)
{
	struct shell_part *part;

	if (!m->run)
		return;
	part = word_part(m, PART_TEXT, m->quoted);
	part->text = m->run;
	part->len = m->n;
	m->run = NULL;
	m->n = m->cap = 0;
}

void word_put(struct making *m, char c, bool quoted)
{
	if (m->run && m->quoted != quoted)
		word_flush(m);
	m->quoted = quoted;
	if (m->n + 1 >= m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 32;
		char *run = arena_alloc(m->s->arena, cap);

		if (m->n)
			memcpy(run, m->run, m->n);
		m->run = run;
		m->cap = cap;
	}
	m->run[m->n++] = c;
}

/* '' and "" are a word even if they are empty. */
void word_empty(struct making *m)
{
	word_flush(m);
	(void)word_part(m, PART_TEXT, true);
}

static void put_utf8(struct making *m, unsigned int c)
{
	if (c < 0x80) {
		word_put(m, mark_plain((char)c), true);
	} else if (c < 0x800) {
		word_put(m, (char)(0xc0 | (c >> 6)), true);
		word_put(m, (char)(0x80 | (c & 0x3f)), true);
	} else {
		word_put(m, (char)(0xe0 | ((c >> 12) & 0xf)), true);
		word_put(m, (char)(0x80 | ((c >> 6) & 0x3f)), true);
		word_put(m, (char)(0x80 | (c & 0x3f)), true);
	}
}

static unsigned int digits(struct shell *s, unsigned int base, int max)
{
	unsigned int v = 0;

	for (; max > 0 && s->p < s->end; max--, s->p++) {
		int c = tolower((unsigned char)*s->p);
		int d = isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;

		if (d >= (int)base)
			break;
		v = v * base + (unsigned int)d;
	}
	return v;
}

/* A NUL ends the value of $'…', whatever follows. */
static void put_code(struct making *m, unsigned int c, bool *over)
{
	if ((c & 0xff) == 0)
		*over = true;
	else if (!*over)
		word_put(m, mark_plain((char)c), true);
}

/* Handles the character after the backslash in $'…'. */
static void ansi_escape(struct making *m, bool *over)
{
	static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	struct shell *s = m->s;
	char c = *s->p;
	const char *at;

	if (c >= '0' && c <= '7') {
		put_code(m, digits(s, 8, 3), over);
		return;
	}
	s->p++;
	at = strchr(from, c);
	if (c == 'x' && shell_at(s, 0, '{')) {
		s->p++;
		put_code(m, digits(s, 16, 8), over);
		if (shell_at(s, 0, '}'))
			s->p++;
	} else if (c == 'x') {
		put_code(m, digits(s, 16, 2), over);
	} else if (c == 'u' || c == 'U') {
		put_utf8(m, digits(s, 16, c == 'u' ? 4 : 8));
	} else if (c == 'c' && s->p < s->end) {
		word_put(m, mark_plain((char)(*s->p++ & 0x1f)), true);
	} else if (c && at) {
		word_put(m, to[at - from], true);
	} else {
		word_put(m, '\\', true);
		word_put(m, c, true);
	}
}

static void ansi_quotes(struct making *m)
{
	struct shell *s = m->s;
	struct making dropped = {.s = s, .w = arena_alloc(s->arena, sizeof(struct shell_word))};
	bool over = false;

	for (s->p += 2; s->p < s->end && *s->p != '\'';) {
		struct making *to = over ? &dropped : m;

		if (*s->p == '\\' && s->p + 1 < s->end) {
			s->p++;
			ansi_escape(to, &over);
		} else {
			word_put(to, *s->p++, true);
		}
	}
	if (s->p >= s->end)
		arena_give_up(s->arena, "a quote is not closed");
	s->p++;
	word_empty(m);
}

static void single_quotes(struct making *m)
{
	struct shell *s = m->s;

	for (s->p++; s->p < s->end && *s->p != '\''; s->p++)
		word_put(m, *s->p, true);
	if (s->p >= s->end)
		arena_give_up(s->arena, "a quote is not closed");
	s->p++;
	word_empty(m);
}

/* Reads up to `close` (0: the end of the text), which is not consumed. */
static void expandable(struct making *m, char close)
{
	struct shell *s = m->s;

	while (s->p < s->end && (!close || *s->p != close)) {
		char c = *s->p;

		if (c == '\\' && shell_at(s, 1, '\n')) {
			s->p += 2;
		} else if (c == '\\' && s->p + 1 < s->end &&
			   (strchr("$`\\", s->p[1]) || (close && s->p[1] == close))) {
			word_put(m, s->p[1], true);
			s->p += 2;
		} else if (c == '$') {
			word_dollar(m, true);
		} else if (c == '`') {
			word_backticks(m, close == '"');
		} else {
			word_put(m, c, true);
			s->p++;
		}
	}
}

static void double_quotes(struct making *m)
{
	struct shell *s = m->s;

	s->p++;
	word_empty(m);
	expandable(m, '"');
	if (s->p >= s->end)
		arena_give_up(s->arena, "a quote is not closed");
	s->p++;
}

struct shell_word *shell_expandable(struct shell *s, const char *text, size_t len)
{
	struct shell inner;
	struct making m = {.s = &inner, .w = arena_alloc(s->arena, sizeof(struct shell_word))};
	char last = 0;

	shell_init(&inner, s->arena, text, len);
	inner.depth = s->depth;
	shell_deeper(&inner);
	/* The argument of ${…} may contain quotes. */
	while (inner.p < inner.end) {
		last = *inner.p;
		if (last == '"')
			double_quotes(&m);
		else
			expandable(&m, '"');
	}
	word_flush(&m);
	return m.w;
}

struct shell_word *shell_literal(struct shell *s, const char *text, size_t len)
{
	struct making m = {.s = s, .w = arena_alloc(s->arena, sizeof(struct shell_word))};

	for (size_t i = 0; i < len; i++)
		word_put(&m, text[i], true);
	word_flush(&m);
	return m.w;
}

void shell_blanks(struct shell *s)
{
	for (;;) {
		if (shell_at(s, 0, ' ') || shell_at(s, 0, '\t') || shell_at(s, 0, '\r'))
			s->p++;
		else if (shell_at(s, 0, '\\') && shell_at(s, 1, '\n'))
			s->p += 2;
		else
			break;
	}
	if (shell_at(s, 0, '#'))
		while (s->p < s->end && *s->p != '\n')
			s->p++;
}

static void process_substitution(struct making *m)
{
	struct shell_part *part;

	word_flush(m);
	part = word_part(m, PART_PROC, true);
	m->s->p += 2;
	part->list = shell_read_parens(m->s);
}

/* Reads the next part of an unquoted word; false at its end. */
static bool word_step(struct making *m)
{
	struct shell *s = m->s;
	char c = *s->p;

	if (strchr("?*+@!", c) && shell_at(s, 1, '(') && m->w->first == NULL && !m->run && c == '!')
		return false; /* ! ( … ): a negated subshell */
	if (strchr("?*+@!", c) && shell_at(s, 1, '(')) {
		s->p += 2;
		shell_skip_pair(s, '(', ')');
		word_flush(m);
		(void)word_part(m, PART_ANY, false);
		return true;
	}
	if ((c == '<' || c == '>') && shell_at(s, 1, '(')) {
		process_substitution(m);
		return true;
	}
	if (strchr(" \t\r\n;&|<>()", c))
		return false;
	if (c == '\\' && shell_at(s, 1, '\n')) {
		s->p += 2;
	} else if (c == '\\' && s->p + 1 < s->end) {
		word_put(m, s->p[1], true);
		s->p += 2;
	} else if (c == '\'') {
		single_quotes(m);
	} else if (c == '"') {
		double_quotes(m);
	} else if (c == '$' && shell_at(s, 1, '\'')) {
		ansi_quotes(m);
	} else if (c == '$' && shell_at(s, 1, '"')) {
		s->p++;
		double_quotes(m);
	} else if (c == '$') {
		word_dollar(m, false);
	} else if (c == '`') {
		word_backticks(m, false);
	} else {
		m->braces += c == '{';
		word_put(m, c, false);
		s->p++;
	}
	return true;
}

struct shell_word *shell_read_word(struct shell *s)
{
	struct making m = {.s = s, .w = arena_alloc(s->arena, sizeof(struct shell_word))};

	shell_blanks(s);
	while (s->p < s->end && *s->p && word_step(&m))
		;
	word_flush(&m);
	return m.w->first ? m.w : NULL;
}
