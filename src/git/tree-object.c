#include "git/tree-object.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "git/tree-path.h"

#define MODE_DIGITS_MAX 6

/* "MODE NAME\0" and the hash. */
static bool next_entry(const char **p, const char *end, size_t id_len, struct gittree_entry *ret)
{
	const char *s = *p, *nul;

	*ret = (struct gittree_entry){0};
	for (; s < end && *s >= '0' && *s <= '7' && s - *p < MODE_DIGITS_MAX; s++)
		ret->mode = ret->mode * 8 + (uint32_t)(*s - '0');
	if (s == *p || s >= end || *s != ' ' || **p == '0')
		return false;
	ret->name = ++s;
	nul = memchr(s, 0, (size_t)(end - s));
	if (!nul || (size_t)(end - nul - 1) < id_len)
		return false;
	ret->len = (size_t)(nul - s);
	ret->id = (const unsigned char *)nul + 1;
	*p = nul + 1 + id_len;
	return true;
}

static bool is_mode(uint32_t mode)
{
	return mode == GITTREE_DIR || mode == GITTREE_LINK || mode == GITTREE_COMMIT ||
	       mode == 0100644 || mode == 0100755 || mode == 0100664; /* the last: of old git */
}

static const char *entry_fault(const struct gittree_entry *e)
{
	if (e->len == 0 || strchr(e->name, '/') || gitpath_is_odd(e->name))
		return "has a name that git does not check out";
	if (!is_mode(e->mode))
		return "has an unknown mode";
	/* git reads these by name, and through a link it would read something else. */
	if (e->mode == GITTREE_LINK && gitpath_is_gits_own(e->name))
		return "is a link where git wants a file";
	return NULL;
}

/* git's order: directories as if a slash stood behind their name. */
static int compare_entries(const struct gittree_entry *a, const struct gittree_entry *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int r = memcmp(a->name, b->name, n);
	unsigned char x = (unsigned char)a->name[n], y = (unsigned char)b->name[n];

	if (r)
		return r;
	if (!x && a->mode == GITTREE_DIR)
		x = '/';
	if (!y && b->mode == GITTREE_DIR)
		y = '/';
	return (int)x - (int)y;
}

static int compare_names(const void *a_, const void *b_)
{
	const char *const *a = a_, *const *b = b_;

	return strcmp(*a, *b);
}

/* The same name as a file and as a directory need not stand side by side. */
static bool has_twice(const char **names, size_t n)
{
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 1; i < n; i++)
		if (streq(names[i - 1], names[i]))
			return true;
	return false;
}

const char *gittree_check(const char *bytes, size_t n, size_t id_len, gittree_fn *fn, void *arg,
			  int *ret, const char **ret_name)
{
	const char *p = bytes, *end = bytes + n, *fault = NULL;
	/* Each entry has at least a digit, two separators and a hash. */
	const char **names = xmalloc((n / (id_len + 3) + 1) * sizeof(*names));
	struct gittree_entry e, last = {0};
	size_t count = 0;

	*ret = 0;
	*ret_name = NULL;
	while (!fault && *ret == 0 && p < end) {
		if (!next_entry(&p, end, id_len, &e) ||
		    (count && compare_entries(&last, &e) >= 0)) {
			fault = "is damaged";
			break;
		}
		fault = entry_fault(&e);
		*ret_name = fault ? e.name : NULL;
		if (!fault)
			*ret = fn(&e, arg);
		names[count++] = e.name;
		last = e;
	}
	if (!fault && *ret == 0 && count && has_twice(names, count))
		fault = "has a name twice";
	free(names);
	return fault;
}
