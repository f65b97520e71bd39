#include "base/strv.h"

#include <string.h>

void strv_init(struct strv *s)
{
	*s = (struct strv){.v = xcalloc(1, sizeof(char *)), .cap = 1};
}

void strv_done(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){0};
}

void strv_take(struct strv *s, char *str)
{
	if (s->n + 2 > s->cap) {
		s->cap = s->cap < 8 ? 8 : s->cap * 2;
		s->v = xrealloc(s->v, s->cap, sizeof(char *));
	}
	s->v[s->n++] = str;
	s->v[s->n] = NULL;
}

void strv_push(struct strv *s, const char *str)
{
	strv_take(s, xstrdup(str));
}

void strv_pushf(struct strv *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strv_take(s, xvasprintf(fmt, ap));
	va_end(ap);
}

void strv_extend(struct strv *s, const struct strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		strv_push(s, from->v[i]);
}

bool strv_has(const struct strv *s, const char *str)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i], str))
			return true;
	return false;
}

bool strv_same(const struct strv *a, const struct strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!streq(a->v[i], b->v[i]))
			return false;
	return true;
}

void strv_split(struct strv *s, const char *str, char sep)
{
	while (*str) {
		const char *end = strchrnul(str, sep);

		if (end > str)
			strv_take(s, xstrndup(str, (size_t)(end - str)));
		str = *end ? end + 1 : end;
	}
}

static char **env_slot(const struct strv *s, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < s->n; i++)
		if (strncmp(s->v[i], name, n) == 0 && s->v[i][n] == '=')
			return &s->v[i];
	return NULL;
}

const char *strv_env_get(const struct strv *s, const char *name)
{
	char **slot = env_slot(s, name);

	return slot ? *slot + strlen(name) + 1 : NULL;
}

void strv_env_set(struct strv *s, const char *name, const char *value)
{
	char **slot = env_slot(s, name);

	if (!slot) {
		strv_pushf(s, "%s=%s", name, value);
		return;
	}
	free(*slot);
	*slot = xasprintf("%s=%s", name, value);
}
