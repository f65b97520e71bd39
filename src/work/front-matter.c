#include "work/markdown.h"

#include <string.h>

#include "work/text.h"

#define FENCE "---"

/* A line of front matter: "key: value", "- entry", or neither. */
struct entry {
	const char *key;
	size_t key_n;
	const char *value;
	size_t n;
	bool item; /* "- value" */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **p, size_t *n)
{
	while (*n && is_blank(**p)) {
		++*p;
		--*n;
	}
	while (*n && is_blank((*p)[*n - 1]))
		--*n;
}

/* A comment after a value and quotes around it are not part of it. */
static char *scalar(const char *p, size_t n)
{
	trim(&p, &n);
	if (n >= 2 && (p[0] == '"' || p[0] == '\'') && p[n - 1] == p[0])
		return xstrndup(p + 1, n - 2);
	for (size_t i = 1; i < n; i++)
		if (p[i] == '#' && is_blank(p[i - 1])) {
			n = i;
			break;
		}
	trim(&p, &n);
	return xstrndup(p, n);
}

static struct entry split(const char *p, size_t n)
{
	const char *colon;
	struct entry e = {0};

	trim(&p, &n);
	if (n >= 2 && p[0] == '-' && is_blank(p[1]))
		return (struct entry){.value = p + 2, .n = n - 2, .item = true};
	colon = memchr(p, ':', n);
	if (!colon || p[0] == '#')
		return e;
	e.key = p;
	e.key_n = (size_t)(colon - p);
	e.value = colon + 1;
	e.n = n - e.key_n - 1;
	while (e.key_n && is_blank(e.key[e.key_n - 1]))
		e.key_n--;
	return e;
}

static bool is_key(const struct entry *e, const char *key)
{
	return e->key && e->key_n == strlen(key) && memcmp(e->key, key, e->key_n) == 0;
}

static int push(struct strv *to, char *value)
{
	if (!*value || to->n == WORK_LIST_MAX) {
		free(value);
		return -EINVAL;
	}
	strv_take(to, value);
	return 0;
}

/* Reads "[a, b]" or one value. An empty value means that entries follow on their own lines. */
static int read_list(const char *p, size_t n, struct strv *to)
{
	int r = 0;

	trim(&p, &n);
	if (n == 0)
		return 0;
	if (p[0] != '[')
		return push(to, scalar(p, n));
	if (p[n - 1] != ']')
		return -EINVAL;
	p++;
	n -= 2;
	trim(&p, &n);
	while (r == 0 && n) {
		const char *comma = memchr(p, ',', n);
		size_t part = comma ? (size_t)(comma - p) : n;

		r = push(to, scalar(p, part));
		p += part + (comma ? 1 : 0);
		n -= part + (comma ? 1 : 0);
	}
	return r;
}

/* Returns the list to which following entries belong, or NULL. */
static struct strv *list_of(struct listing *l, const struct entry *e)
{
	if (is_key(e, "depends"))
		return &l->depends;
	return is_key(e, "verify") ? &l->verify : NULL;
}

static char **text_of(struct listing *l, const struct entry *e)
{
	if (is_key(e, "branch"))
		return &l->branch;
	if (is_key(e, "base"))
		return &l->base;
	return is_key(e, "title") ? &l->project : NULL;
}

static int take_entry(struct listing *l, const struct entry *e, struct strv **open)
{
	char **text;

	if (e->item)
		return *open ? push(*open, scalar(e->value, e->n)) : 0;
	if (!e->key)
		return 0;
	*open = list_of(l, e);
	if (*open)
		return read_list(e->value, e->n, *open);
	text = text_of(l, e);
	if (!text)
		return 0;
	if (*text)
		return -EEXIST;
	*text = scalar(e->value, e->n);
	return **text ? 0 : -EINVAL;
}

static bool is_fence(const char *p, size_t n)
{
	while (n && is_blank(p[n - 1]))
		n--;
	return n == strlen(FENCE) && memcmp(p, FENCE, n) == 0;
}

int front_read(const char *name, const char *text, size_t len, struct listing *l, size_t *ret_body,
	       struct err *err)
{
	size_t at = 0, line = 0, n = 0;
	struct strv *open = NULL;

	*ret_body = 0;
	if (!plan_line(text, len, &at, &line, &n) || !is_fence(text, n))
		return 0;
	for (unsigned number = 2; plan_line(text, len, &at, &line, &n); number++) {
		struct entry e;
		int r;

		if (is_fence(text + line, n)) {
			l->front = true;
			*ret_body = at;
			return 0;
		}
		e = split(text + line, n);
		r = take_entry(l, &e, &open);
		if (r == -EEXIST)
			return err_usage(err, "%s:%u: '%.*s' is given twice; take one out", name,
					 number, (int)e.key_n, e.key);
		if (r < 0)
			return err_usage(err,
					 "%s:%u: has no value that can be read; write 'branch: "
					 "NAME', 'depends: [A, B]' or '- A' below it",
					 name, number);
	}
	/* A line of dashes without a second one is a horizontal rule, not front matter. */
	listing_done(l);
	return 0;
}
