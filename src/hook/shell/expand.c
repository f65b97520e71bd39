#include "hook/shell/expand.h"

#include <string.h>

#include "base/mem.h"
#include "hook/shell/marks.h"

static const char any_text[] = {MARK_ANY, 0};

struct values values_one(struct judge *j, const char *s)
{
	struct values v = {.v = arena_alloc(j->arena, sizeof(*v.v)), .n = 1};

	v.v[0] = s;
	return v;
}

struct values values_any(struct judge *j, unsigned int taint)
{
	struct values v = values_one(j, any_text);

	v.taint = taint;
	return v;
}

void values_add(struct judge *j, struct values *to, const char *s)
{
	const char **v;

	for (unsigned int i = 0; i < to->n; i++)
		if (streq(to->v[i], s))
			return;
	if (to->n >= VALUES_MAX) {
		to->v[VALUES_MAX - 1] = any_text;
		return;
	}
	v = arena_alloc(j->arena, (to->n + 1) * sizeof(*v));
	if (to->n)
		memcpy(v, to->v, to->n * sizeof(*v));
	v[to->n] = s;
	to->v = v;
	to->n++;
}

struct values values_join(struct judge *j, const struct values *a, const struct values *b)
{
	struct values v = {.taint = a->taint | b->taint};
	static const char *const unknown[] = {any_text};
	struct values other = *b;

	if (a->n * b->n > VALUES_MAX) {
		other.v = (const char **)unknown;
		other.n = 1;
	}
	v.v = arena_alloc(j->arena, a->n * other.n * sizeof(*v.v));
	for (unsigned int i = 0; i < a->n; i++)
		for (unsigned int k = 0; k < other.n; k++)
			v.v[v.n++] = arena_printf(j->arena, "%s%s", a->v[i], other.v[k]);
	return v;
}

bool value_is_known(const char *s)
{
	return !strpbrk(s, (const char[]){MARK_ANY, MARK_STAR, MARK_ONE, 0});
}

bool value_is_any(const char *s)
{
	static const char only[] = {MARK_ANY, MARK_EMPTY, 0};

	return strchr(s, MARK_ANY) && strspn(s, only) == strlen(s);
}

const char *value_plain(struct judge *j, const char *s)
{
	char *to = arena_alloc(j->arena, strlen(s) + 1);
	size_t n = 0;

	for (; *s; s++)
		if (*s != MARK_EMPTY)
			to[n++] = mark_byte(*s);
	return to;
}

void fields_add(struct judge *j, struct fields *f, const char *s)
{
	if (f->n >= FIELDS_MAX)
		arena_give_up(j->arena, "it has too many words");
	/* The array doubles whenever the count is a power of two. */
	if ((f->n & (f->n - 1)) == 0) {
		const char **v = arena_alloc(j->arena, (f->n ? f->n * 2 : 1) * sizeof(*v));

		if (f->n)
			memcpy(v, f->v, f->n * sizeof(*v));
		f->v = v;
	}
	f->v[f->n++] = s;
}

/* In unquoted text, active characters become marks. */
static char *activate(struct judge *j, const char *s, size_t n)
{
	char *to = arena_alloc(j->arena, n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		const char *close = s[i] == '[' ? memchr(s + i, ']', n - i) : NULL;

		if (close && close > s + i + 1) {
			to[len++] = MARK_ONE;
			i = (size_t)(close - s);
		} else if (s[i] == '*') {
			/* Consecutive stars are one. */
			if (!len || to[len - 1] != MARK_STAR)
				to[len++] = MARK_STAR;
		} else if (s[i] == '?') {
			to[len++] = MARK_ONE;
		} else if (s[i] == '{') {
			to[len++] = MARK_OPEN;
		} else if (s[i] == ',') {
			to[len++] = MARK_COMMA;
		} else if (s[i] == '}') {
			to[len++] = MARK_CLOSE;
		} else {
			to[len++] = s[i];
		}
	}
	return to;
}

/* Splits an unquoted variable at IFS; globs are active, braces are not. */
static const char *split(struct judge *j, const char *s, const char *ifs)
{
	char *to = arena_alloc(j->arena, strlen(s) + 1);
	size_t n = 0;

	for (; *s; s++) {
		if (strchr(ifs, *s))
			to[n++] = MARK_SPLIT;
		else
			to[n++] = *s == '*' ? MARK_STAR : *s == '?' ? MARK_ONE : *s;
	}
	return to;
}

static const char *field_separators(struct judge *j)
{
	struct judge_name *ifs = judge_find(j->vars, "IFS");

	return ifs && ifs->values.n && ifs->values.v[0][0] && value_is_known(ifs->values.v[0])
		       ? ifs->values.v[0]
		       : " \t\n";
}

static struct values quoted_or_split(struct judge *j, struct values v, bool quoted, bool all)
{
	struct values to = {.taint = v.taint};
	const char *ifs = field_separators(j);

	for (unsigned int i = 0; i < v.n; i++) {
		const char *s = v.v[i];

		/* "$@" stays several fields; any other quoted text is one field. */
		if (quoted && !all)
			s = arena_printf(j->arena, "%c%s", MARK_EMPTY, value_plain(j, s));
		else if (!quoted)
			s = split(j, s, ifs);
		values_add(j, &to, s);
	}
	return to;
}

static const char *home_of(struct judge *j, const char *user, size_t n)
{
	if (n == 0)
		return j->home;
	if (n == 1 && *user == '+')
		return j->cwd;
	if (n == 4 && memcmp(user, "root", 4) == 0)
		return "/root";
	return arena_printf(j->arena, "/home/%.*s", (int)n, user);
}

static struct values expand_text(struct judge *j, const struct shell_part *p, bool first)
{
	const char *text = p->text;
	size_t n = p->len, name;

	if (p->quoted)
		return values_one(
			j, arena_printf(j->arena, "%c%.*s", MARK_EMPTY, (int)n, text ? text : ""));
	if (first && n && text[0] == '~') {
		for (name = 1; name < n && text[name] != '/' && text[name] != ':'; name++)
			;
		return values_one(j, arena_printf(j->arena, "%s%s", home_of(j, text + 1, name - 1),
						  activate(j, text + name, n - name)));
	}
	return values_one(j, activate(j, text, n));
}

/* Returns the output of a substitution, without trailing newlines. */
static struct values substitute(struct judge *j, const struct shell_part *p)
{
	struct values out = judge_list(j, p->list, NULL), to = {.taint = out.taint};

	for (unsigned int i = 0; i < out.n; i++) {
		size_t n = strlen(out.v[i]);

		while (n && out.v[i][n - 1] == '\n')
			n--;
		values_add(j, &to, arena_strndup(j->arena, out.v[i], n));
	}
	return quoted_or_split(j, to, p->quoted, false);
}

static struct values expand_part(struct judge *j, const struct shell_part *p, bool first)
{
	struct values v;

	switch (p->kind) {
	case PART_TEXT:
		return expand_text(j, p, first);
	case PART_PARAM:
		v = expand_param(j, p);
		return quoted_or_split(j, v, p->quoted,
				       streq(p->text, "@") || (p->index && streq(p->index, "@")));
	case PART_CMD:
		return substitute(j, p);
	case PART_PROC:
		/* The result is a file whose content is the output of the list. */
		v = judge_list(j, p->list, NULL);
		judge_set(j, &j->files, "/dev/fd/63", v);
		v = values_one(j, "/dev/fd/63");
		return v;
	case PART_ANY:
	default:
		return values_any(j, 0);
	}
}

struct values expand_word(struct judge *j, const struct shell_word *w)
{
	struct values v = values_one(j, "");

	for (const struct shell_part *p = w->first; p; p = p->next) {
		struct values one = expand_part(j, p, p == w->first);

		v = values_join(j, &v, &one);
	}
	return v;
}

struct values expand_value(struct judge *j, const struct shell_word *w)
{
	struct values v = expand_word(j, w), to = {.taint = v.taint};

	for (unsigned int i = 0; i < v.n; i++)
		values_add(j, &to, value_plain(j, v.v[i]));
	return to;
}

struct values expand_words(struct judge *j, const struct shell_word *w)
{
	struct values v = values_one(j, "");
	struct values border = values_one(j, arena_printf(j->arena, "%c", MARK_SPLIT));

	for (bool first = true; w; w = w->next, first = false) {
		struct values one = expand_word(j, w);

		if (!first)
			v = values_join(j, &v, &border);
		v = values_join(j, &v, &one);
	}
	return v;
}
