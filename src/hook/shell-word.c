#include "hook/shell-lex.h"

#include <ctype.h>
#include <string.h>

#include "hook/marks.h"

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

/* A word as it is being read: runs of bytes with the same quoting become one part. */
struct making {
	struct shell *s;
	struct shell_word *w;
	char *run;
	size_t n, cap;
	bool quoted;
	unsigned int braces; /* that are open */
};

static struct shell_part *add_part(struct making *m, enum shell_part_kind kind, bool quoted)
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

static void flush(struct making *m)
{
	struct shell_part *part;

	if (!m->run)
		return;
	part = add_part(m, PART_TEXT, m->quoted);
	part->text = m->run;
	part->len = m->n;
	m->run = NULL;
	m->n = m->cap = 0;
}

static void put(struct making *m, char c, bool quoted)
{
	if (m->run && m->quoted != quoted)
		flush(m);
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

/* '' and "" are a word even with nothing in them. */
static void put_empty(struct making *m)
{
	flush(m);
	(void)add_part(m, PART_TEXT, true);
}

static void put_utf8(struct making *m, unsigned int c)
{
	if (c < 0x80) {
		put(m, mark_plain((char)c), true);
	} else if (c < 0x800) {
		put(m, (char)(0xc0 | (c >> 6)), true);
		put(m, (char)(0x80 | (c & 0x3f)), true);
	} else {
		put(m, (char)(0xe0 | ((c >> 12) & 0xf)), true);
		put(m, (char)(0x80 | ((c >> 6) & 0x3f)), true);
		put(m, (char)(0x80 | (c & 0x3f)), true);
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

/* A NUL ends what $'…' stands for, whatever comes behind it. */
static void put_code(struct making *m, unsigned int c, bool *over)
{
	if ((c & 0xff) == 0)
		*over = true;
	else if (!*over)
		put(m, mark_plain((char)c), true);
}

/* Behind the backslash in $'…'. */
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
		put(m, mark_plain((char)(*s->p++ & 0x1f)), true);
	} else if (c && at) {
		put(m, to[at - from], true);
	} else {
		put(m, '\\', true);
		put(m, c, true);
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
			put(to, *s->p++, true);
		}
	}
	if (s->p >= s->end)
		arena_give_up(s->arena, "a quote is not closed");
	s->p++;
	put_empty(m);
}

static void single_quotes(struct making *m)
{
	struct shell *s = m->s;

	for (s->p++; s->p < s->end && *s->p != '\''; s->p++)
		put(m, *s->p, true);
	if (s->p >= s->end)
		arena_give_up(s->arena, "a quote is not closed");
	s->p++;
	put_empty(m);
}

static void backticks(struct making *m, bool quoted)
{
	struct shell *s = m->s, inner;
	char *text = arena_alloc(s->arena, (size_t)(s->end - s->p) + 1);
	struct shell_part *part;
	size_t n = 0;

	for (s->p++; s->p < s->end && *s->p != '`'; s->p++) {
		if (*s->p == '\\' && s->p + 1 < s->end &&
		    (strchr("`$\\", s->p[1]) || (quoted && s->p[1] == '"')))
			s->p++;
		text[n++] = *s->p;
	}
	if (s->p >= s->end)
		arena_give_up(s->arena, "a ` is not closed");
	s->p++;
	shell_init(&inner, s->arena, text, n);
	inner.depth = s->depth;
	shell_deeper(&inner);
	flush(m);
	part = add_part(m, PART_CMD, quoted);
	part->list = shell_read_all(&inner);
}

/* Past what `open` began, nested pairs and quotes included. */
static void skip_pair(struct shell *s, char open, char close)
{
	int n = 1;

	for (; s->p < s->end; s->p++) {
		char c = *s->p;

		if (c == '\\' && s->p + 1 < s->end)
			s->p++;
		else if (c == open)
			n++;
		else if (c == close && --n == 0) {
			s->p++;
			return;
		}
	}
	arena_give_up(s->arena, "a bracket is not closed");
}

/* $((…)) and the like: a number; what is substituted in it is still run. */
static void arithmetic(struct making *m, const char *from, const char *to, bool quoted)
{
	struct shell_word *w = shell_expandable(m->s, from, (size_t)(to - from));

	flush(m);
	for (struct shell_part *p = w->first; p; p = p->next) {
		if (p->kind == PART_CMD) {
			struct shell_part *run = add_part(m, PART_CMD, true);

			run->list = p->list;
		}
	}
	(void)add_part(m, PART_ANY, quoted);
}

static bool is_arithmetic(const struct shell *s)
{
	struct shell t = *s;
	int n = 1;

	/* $(( ends with )) side by side; otherwise it is a subshell in a substitution. */
	for (t.p += 3; t.p < t.end; t.p++) {
		if (*t.p == '(')
			n++;
		else if (*t.p == ')' && --n == 0)
			return t.p + 1 < t.end && t.p[1] == ')';
	}
	return false;
}

/* The text of ${…}'s argument up to its end or `stop`, as a word of its own. */
static struct shell_word *param_arg(struct shell *s, bool quoted, char stop)
{
	const char *from = s->p;
	struct shell inner;
	char quote = 0;
	int depth = 0;

	for (; s->p < s->end; s->p++) {
		char c = *s->p;

		if (c == '\\' && quote != '\'' && s->p + 1 < s->end) {
			s->p++;
		} else if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || (c == '\'' && !quoted)) {
			quote = c;
		} else if (c == '{' || c == '(') {
			depth++;
		} else if ((c == '}' || c == ')') && depth > 0) {
			depth--;
		} else if (c == '}' || (stop && c == stop && depth == 0)) {
			break;
		}
	}
	if (s->p >= s->end)
		arena_give_up(s->arena, "a ${ is not closed");
	shell_init(&inner, s->arena, from, (size_t)(s->p - from));
	inner.depth = s->depth;
	shell_deeper(&inner);
	return shell_expandable(&inner, from, (size_t)(s->p - from));
}

static const char *param_name(struct shell *s, size_t *n)
{
	const char *from = s->p;

	if (s->p < s->end && (isalpha((unsigned char)*s->p) || *s->p == '_'))
		while (s->p < s->end && (isalnum((unsigned char)*s->p) || *s->p == '_'))
			s->p++;
	else if (s->p < s->end && isdigit((unsigned char)*s->p))
		while (s->p < s->end && isdigit((unsigned char)*s->p))
			s->p++;
	else if (s->p < s->end && strchr("@*#?-$!_", *s->p))
		s->p++;
	*n = (size_t)(s->p - from);
	return from;
}

static void param_operator(struct shell *s, struct shell_part *part)
{
	static const char *const two[] = {":-", ":=", ":+", ":?", "##", "%%",
					  "//", "/#", "/%", "^^", ",,"};
	bool replaces;

	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		if (shell_at(s, 0, two[i][0]) && shell_at(s, 1, two[i][1])) {
			memcpy(part->op, two[i], 2);
			s->p += 2;
			break;
		}
	if (!part->op[0] && s->p < s->end && *s->p != '}')
		part->op[0] = *s->p++;
	replaces = part->op[0] == '/';
	part->arg = param_arg(s, part->quoted, replaces ? '/' : part->op[0] == ':' ? ':' : 0);
	if (s->p < s->end && *s->p != '}') {
		s->p++;
		part->arg2 = param_arg(s, part->quoted, 0);
	}
}

static void braced_param(struct making *m, bool quoted)
{
	struct shell *s = m->s;
	struct shell_part *part;
	char prefix = 0;
	size_t n;

	flush(m);
	s->p += 2;
	part = add_part(m, PART_PARAM, quoted);
	if ((shell_at(s, 0, '#') || shell_at(s, 0, '!')) && !shell_at(s, 1, '}'))
		prefix = *s->p++;
	part->text = param_name(s, &n);
	part->text = arena_strndup(s->arena, part->text, n);
	part->len = n;
	if (shell_at(s, 0, '[')) {
		const char *from = ++s->p;

		skip_pair(s, '[', ']');
		part->index = arena_strndup(s->arena, from, (size_t)(s->p - from) - 1);
	}
	if (!shell_at(s, 0, '}'))
		param_operator(s, part);
	if (prefix)
		part->op[0] = prefix == '!' ? '!' : 'l';
	if (!shell_at(s, 0, '}'))
		arena_give_up(s->arena, "a ${ is not closed");
	s->p++;
}

/* A line may go on within a name: from here on it is read as if it had not ended. */
static void join_name(struct shell *s)
{
	for (size_t i = 1; (size_t)(s->end - s->p) > i; i++) {
		while (shell_at(s, i, '\\') && shell_at(s, i + 1, '\n')) {
			size_t n = (size_t)(s->end - s->p);
			char *text = arena_alloc(s->arena, n + 1);

			memcpy(text, s->p, i);
			memcpy(text + i, s->p + i + 2, n - i - 2);
			s->p = text;
			s->end = text + n - 2;
		}
		if (s->p + i >= s->end || (!isalnum((unsigned char)s->p[i]) && s->p[i] != '_'))
			break;
	}
}

static void dollar(struct making *m, bool quoted)
{
	struct shell *s = m->s;
	const char *from;
	struct shell_part *part;
	size_t n;

	join_name(s);
	from = s->p;

	if (shell_at(s, 1, '(') && shell_at(s, 2, '(') && is_arithmetic(s)) {
		s->p += 3;
		skip_pair(s, '(', ')');
		arithmetic(m, from + 3, s->p - 1, quoted);
		s->p++;
	} else if (shell_at(s, 1, '[')) {
		s->p += 2;
		skip_pair(s, '[', ']');
		arithmetic(m, from + 2, s->p - 1, quoted);
	} else if (shell_at(s, 1, '(')) {
		s->p += 2;
		flush(m);
		part = add_part(m, PART_CMD, quoted);
		part->list = shell_read_parens(s);
	} else if (shell_at(s, 1, '{')) {
		shell_deeper(s);
		braced_param(m, quoted);
		s->depth--;
	} else {
		s->p++;
		(void)param_name(s, &n);
		/* Without braces a positional parameter has one digit. */
		if (n && isdigit((unsigned char)from[1])) {
			n = 1;
			s->p = from + 2;
		}
		if (n == 0) {
			put(m, '$', quoted);
			return;
		}
		flush(m);
		/* Braces come first: $a{b,c} is $ab $ac, and {$a,b}c is $ac bc. */
		if (!quoted && (shell_at(s, 0, '{') ||
				(m->braces && (shell_at(s, 0, ',') || shell_at(s, 0, '}'))))) {
			(void)add_part(m, PART_ANY, false);
			return;
		}
		part = add_part(m, PART_PARAM, quoted);
		part->text = arena_strndup(s->arena, from + 1, n);
		part->len = n;
	}
}

/* Up to `close` (0: the end of the text), which is not taken. */
static void expandable(struct making *m, char close)
{
	struct shell *s = m->s;

	while (s->p < s->end && (!close || *s->p != close)) {
		char c = *s->p;

		if (c == '\\' && shell_at(s, 1, '\n')) {
			s->p += 2;
		} else if (c == '\\' && s->p + 1 < s->end &&
			   (strchr("$`\\", s->p[1]) || (close && s->p[1] == close))) {
			put(m, s->p[1], true);
			s->p += 2;
		} else if (c == '$') {
			dollar(m, true);
		} else if (c == '`') {
			backticks(m, close == '"');
		} else {
			put(m, c, true);
			s->p++;
		}
	}
}

static void double_quotes(struct making *m)
{
	struct shell *s = m->s;

	s->p++;
	put_empty(m);
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
	/* The argument of ${…} may have quotes of its own. */
	while (inner.p < inner.end) {
		last = *inner.p;
		if (last == '"')
			double_quotes(&m);
		else
			expandable(&m, '"');
	}
	flush(&m);
	return m.w;
}

struct shell_word *shell_literal(struct shell *s, const char *text, size_t len)
{
	struct making m = {.s = s, .w = arena_alloc(s->arena, sizeof(struct shell_word))};

	for (size_t i = 0; i < len; i++)
		put(&m, text[i], true);
	flush(&m);
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

	flush(m);
	part = add_part(m, PART_PROC, true);
	m->s->p += 2;
	part->list = shell_read_parens(m->s);
}

/* One step of an unquoted word; false at its end. */
static bool word_step(struct making *m)
{
	struct shell *s = m->s;
	char c = *s->p;

	if (strchr("?*+@!", c) && shell_at(s, 1, '(') && m->w->first == NULL && !m->run && c == '!')
		return false; /* ! ( … ): a negated subshell */
	if (strchr("?*+@!", c) && shell_at(s, 1, '(')) {
		s->p += 2;
		skip_pair(s, '(', ')');
		flush(m);
		(void)add_part(m, PART_ANY, false);
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
		put(m, s->p[1], true);
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
		dollar(m, false);
	} else if (c == '`') {
		backticks(m, false);
	} else {
		m->braces += c == '{';
		put(m, c, false);
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
	flush(&m);
	return m.w->first ? m.w : NULL;
}
