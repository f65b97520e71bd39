#include "policy/request-row.h"

#include <string.h>

#include "base/mem.h"

static const char *const kinds[REQUEST_KIND_N] = {
	[REQUEST_UNKNOWN] = "unknown",	   [REQUEST_FREE] = "free",
	[REQUEST_MESSAGES] = "messages",   [REQUEST_CHAT] = "chat",
	[REQUEST_RESPONSES] = "responses", [REQUEST_GEMINI] = "gemini",
	[REQUEST_CONVERSE] = "converse",
};

static const char *next_word(const char **p, size_t *ret_n)
{
	const char *word = *p;

	*ret_n = strcspn(word, " ");
	*p = word + *ret_n + (word[*ret_n] == ' ');
	return word;
}

static bool read_kind(const char *word, size_t n, enum request_kind *ret)
{
	for (size_t i = 0; i < REQUEST_KIND_N; i++)
		if (strlen(kinds[i]) == n && memcmp(kinds[i], word, n) == 0) {
			*ret = (enum request_kind)i;
			return true;
		}
	return false;
}

bool request_row_parse(const char *text, struct request_row *ret)
{
	struct request_row r = {0};
	const char *p = text, *word;
	size_t n;

	r.method = next_word(&p, &r.method_n);
	r.pattern = next_word(&p, &r.pattern_n);
	if (r.method_n == 0 || r.pattern_n == 0 || r.pattern[0] != '/')
		return false;
	r.kind =
		r.method_n == 3 && memcmp(r.method, "GET", 3) == 0 ? REQUEST_FREE : REQUEST_UNKNOWN;
	if (*p && strncmp(p, "https://", 8) != 0) {
		word = next_word(&p, &n);
		if (!read_kind(word, n, &r.kind))
			return false;
	}
	r.url = *p ? p : NULL;
	*ret = r;
	return true;
}

bool request_row_is(const struct request_row *r, const char *method)
{
	size_t n = strlen(method);

	return (n == r->method_n && memcmp(r->method, method, n) == 0) ||
	       (r->method_n == 3 && memcmp(r->method, "GET", 3) == 0 && streq(method, "HEAD"));
}

/* Is the text, without a slash, what a pattern of one segment says? At most one star. */
static bool segment_fits(const char *pattern, size_t pattern_n, const char *text, size_t n)
{
	const char *star = memchr(pattern, '*', pattern_n);
	size_t before = star ? (size_t)(star - pattern) : 0, after;

	if (!star)
		return n == pattern_n && memcmp(pattern, text, n) == 0;
	after = pattern_n - before - 1;
	return n > before + after && memcmp(text, pattern, before) == 0 &&
	       memcmp(text + n - after, star + 1, after) == 0;
}

static size_t segment(const char *p, size_t n)
{
	const char *slash = n ? memchr(p, '/', n) : NULL;

	return slash ? (size_t)(slash - p) : n;
}

bool request_pattern_fits(const char *pattern, size_t pattern_n, const char *path, size_t n)
{
	for (;;) {
		size_t want = segment(pattern, pattern_n), have = segment(path, n);

		if (want == 2 && want == pattern_n && memcmp(pattern, "**", 2) == 0)
			return n > 0;
		if (!segment_fits(pattern, want, path, have))
			return false;
		if (want == pattern_n || have == n)
			return want == pattern_n && have == n;
		pattern += want + 1;
		pattern_n -= want + 1;
		path += have + 1;
		n -= have + 1;
	}
}

size_t request_row_fixed(const struct request_row *r)
{
	const char *star = memchr(r->pattern, '*', r->pattern_n);
	size_t n = star ? (size_t)(star - r->pattern) : r->pattern_n;

	while (star && n && r->pattern[n - 1] != '/')
		n--;
	return star ? n - 1 : n;
}

char *request_row_whole(const struct request_row *r, const char *base)
{
	size_t skip = r->url ? request_row_fixed(r) : 0, n = strlen(base);

	while (n && base[n - 1] == '/')
		n--;
	return xasprintf("%.*s%.*s", (int)n, base, (int)(r->pattern_n - skip), r->pattern + skip);
}
