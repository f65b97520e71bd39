#include "base/json/jpick.h"

#include <assert.h>
#include <string.h>

static const char *space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* Behind the value that begins at p, or NULL. */
static const char *value_end(const char *p, const char *end)
{
	enum jscan_token t;
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, p, (size_t)(end - p));
	t = jscan_next(&j);
	if (t == JSCAN_OBJECT || t == JSCAN_ARRAY || (t == JSCAN_STRING && !j.last)) {
		jscan_skip(&j);
		t = jscan_next(&j);
	}
	return t == JSCAN_MORE || t == JSCAN_ERROR ? NULL : j.p;
}

/* The key at *p, then its value; *p is behind both afterwards. */
static bool member(const char **p, const char *end, struct jtext *key, struct jtext *value)
{
	const char *q = value_end(*p, end);

	if (!q || **p != '"')
		return false;
	*key = (struct jtext){*p + 1, (size_t)(q - *p) - 2};
	q = space(q, end);
	if (q == end || *q != ':')
		return false;
	q = space(q + 1, end);
	value->p = q;
	q = value_end(q, end);
	if (!q)
		return false;
	value->n = (size_t)(q - value->p);
	*p = q;
	return true;
}

bool jpick_member(struct jtext object, size_t *at, struct jtext *key, struct jtext *value)
{
	const char *end = object.p + object.n, *p;

	if (!jtext_is_object(object))
		return false;
	p = space(object.p + (*at ? *at : 1), end);
	if (*at && p < end && *p == ',')
		p = space(p + 1, end);
	if (p == end || *p == '}' || !member(&p, end, key, value))
		return false;
	*at = (size_t)(p - object.p);
	return true;
}

bool jpick(struct jtext object, const char *const *names, struct jtext *ret, size_t n)
{
	struct jtext key, value;
	size_t lengths[JPICK_MAX], at = 0;
	const char *end;

	assert(n <= JPICK_MAX);
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct jtext){0};
		lengths[i] = strlen(names[i]);
	}
	while (jpick_member(object, &at, &key, &value))
		for (size_t i = 0; i < n; i++)
			if (lengths[i] == key.n && memcmp(names[i], key.p, key.n) == 0)
				ret[i] = value;
	if (!jtext_is_object(object))
		return false;
	end = space(object.p + (at ? at : 1), object.p + object.n);
	return end < object.p + object.n && *end == '}';
}

struct jtext jpick_one(struct jtext object, const char *name)
{
	struct jtext v;

	(void)jpick(object, &name, &v, 1);
	return v;
}

bool jpick_each(struct jtext array, size_t *at, struct jtext *ret)
{
	const char *end = array.p + array.n, *p, *q;

	if (!jtext_is_array(array))
		return false;
	p = space(array.p + (*at ? *at : 1), end);
	if (*at && p < end && *p == ',')
		p = space(p + 1, end);
	if (p == end || *p == ']')
		return false;
	q = value_end(p, end);
	if (!q)
		return false;
	*ret = (struct jtext){p, (size_t)(q - p)};
	*at = (size_t)(q - array.p);
	return true;
}

bool jtext_eq(struct jtext t, const char *s)
{
	size_t n = strlen(s);

	return jtext_is_string(t) && t.n == n + 2 && memcmp(t.p + 1, s, n) == 0;
}

bool jtext_true(struct jtext t)
{
	return t.n == 4 && memcmp(t.p, "true", 4) == 0;
}

uint64_t jtext_uint(struct jtext t)
{
	const struct jscan j = {.text = t.p, .len = t.n};
	uint64_t v = 0;

	return t.n && jscan_uint(&j, &v) ? v : 0;
}

/* Moves a cut back to the beginning of a UTF-8 character. */
static size_t cut_at(const char *s, size_t n)
{
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

int jtext_append(struct jtext t, struct buf *to, size_t max)
{
	struct jscan j;

	if (!jtext_is_string(t))
		return 0;
	jscan_init(&j);
	jscan_feed(&j, t.p, t.n);
	while (jscan_next(&j) == JSCAN_STRING) {
		bool cut = j.len > max;
		size_t n = cut ? cut_at(j.text, max) : j.len;

		if (buf_append(to, j.text, n) < 0 || cut)
			return 1;
		max -= n;
		if (j.last)
			break;
	}
	return 0;
}

char *jtext_dup(struct jtext t, size_t max)
{
	struct buf b;

	if (!jtext_is_string(t))
		return NULL;
	buf_init(&b, max + 1);
	(void)jtext_append(t, &b, max);
	return buf_take(&b);
}
