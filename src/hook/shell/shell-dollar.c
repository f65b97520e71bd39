/* Parses the parts of a word that begin with $ or `. */
#include "hook/shell/shell-lex.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

void word_backticks(struct making *m, bool quoted)
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
	word_flush(m);
	part = word_part(m, PART_CMD, quoted);
	part->list = shell_read_all(&inner);
}

/* Skips to the end of the pair that `open` began, with nested pairs and quotes. */
void shell_skip_pair(struct shell *s, char open, char close)
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

/* $((…)) and the like give a number, but substitutions in it still run. */
static void arithmetic(struct making *m, const char *from, const char *to, bool quoted)
{
	struct shell_word *w = shell_expandable(m->s, from, (size_t)(to - from));

	word_flush(m);
	for (struct shell_part *p = w->first; p; p = p->next) {
		if (p->kind == PART_CMD) {
			struct shell_part *run = word_part(m, PART_CMD, true);

			run->list = p->list;
		}
	}
	(void)word_part(m, PART_ANY, quoted);
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

/* Reads the argument of ${…} up to its end or `stop`, as a separate word. */
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

	word_flush(m);
	s->p += 2;
	part = word_part(m, PART_PARAM, quoted);
	if ((shell_at(s, 0, '#') || shell_at(s, 0, '!')) && !shell_at(s, 1, '}'))
		prefix = *s->p++;
	part->text = param_name(s, &n);
	part->text = arena_strndup(s->arena, part->text, n);
	part->len = n;
	if (shell_at(s, 0, '[')) {
		const char *from = ++s->p;

		shell_skip_pair(s, '[', ']');
		part->index = arena_strndup(s->arena, from, (size_t)(s->p - from) - 1);
		part->index_word = shell_expandable(s, part->index, strlen(part->index));
	}
	if (!shell_at(s, 0, '}'))
		param_operator(s, part);
	if (prefix)
		part->op[0] = prefix == '!' ? '!' : 'l';
	if (!shell_at(s, 0, '}'))
		arena_give_up(s->arena, "a ${ is not closed");
	s->p++;
}

/* A line continuation may be inside a name: from here on the lines are joined. */
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

void word_dollar(struct making *m, bool quoted)
{
	struct shell *s = m->s;
	const char *from;
	struct shell_part *part;
	size_t n;

	join_name(s);
	from = s->p;

	if (shell_at(s, 1, '(') && shell_at(s, 2, '(') && is_arithmetic(s)) {
		s->p += 3;
		shell_skip_pair(s, '(', ')');
		arithmetic(m, from + 3, s->p - 1, quoted);
		s->p++;
	} else if (shell_at(s, 1, '[')) {
		s->p += 2;
		shell_skip_pair(s, '[', ']');
		arithmetic(m, from + 2, s->p - 1, quoted);
	} else if (shell_at(s, 1, '(')) {
		s->p += 2;
		word_flush(m);
		part = word_part(m, PART_CMD, quoted);
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
			word_put(m, '$', quoted);
			return;
		}
		word_flush(m);
		/* Braces come first: $a{b,c} is $ab $ac, and {$a,b}c is $ac bc. */
		if (!quoted && (shell_at(s, 0, '{') ||
				(m->braces && (shell_at(s, 0, ',') || shell_at(s, 0, '}'))))) {
			(void)word_part(m, PART_ANY, false);
			return;
		}
		part = word_part(m, PART_PARAM, quoted);
		part->text = arena_strndup(s->arena, from + 1, n);
		part->len = n;
	}
}
