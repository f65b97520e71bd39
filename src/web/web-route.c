#include "web/web-route.h"

#include <string.h>

#include "base/mem.h"

const struct route_file route_files[ROUTE_FILES] = {
	{"/", "index.html", "text/html; charset=utf-8"},
	{"/app.js", "app.js", "text/javascript; charset=utf-8"},
	{"/style.css", "style.css", "text/css; charset=utf-8"},
	{"/icon.svg", "icon.svg", "image/svg+xml"},
};

/* In a pattern '@' is the name of a sandbox, '%' a key of desk's, '=' an id of the quarantine or of an ask, '#'
 * a number. */
static const struct row {
	const char *pattern;
	enum route_id id;
	bool post;
} rows[] = {
	{"/login", ROUTE_LOGIN, true},
	{"/logout", ROUTE_LOGOUT, true},
	{"/api/act", ROUTE_ACT, true},
	{"/api/stream", ROUTE_STREAM, true},
	{"/api/sessions", ROUTE_SESSIONS, false},
	{"/api/overview", ROUTE_OVERVIEW, false},
	{"/api/loop/%", ROUTE_LOOP, false},
	{"/api/loop/%/iter/#/log", ROUTE_LOG, false},
	{"/api/loop/%/iter/#/verify", ROUTE_CHECKS, false},
	{"/api/net/@", ROUTE_NET, false},
	{"/api/events/@", ROUTE_EVENTS, false},
	{"/api/events/@/verify", ROUTE_VERIFY, false},
	{"/api/usage", ROUTE_USAGE, false},
	{"/api/quarantine", ROUTE_QUARANTINE, false},
	{"/api/quarantine/=", ROUTE_HELD, false},
	{"/api/asks", ROUTE_ASKS, false},
	{"/api/ask/=", ROUTE_ASK, false},
};

static const struct row topics[] = {
	{"overview", ROUTE_OVERVIEW, false},
	{"loop/%", ROUTE_LOOP, false},
	{"events/@", ROUTE_EVENTS, false},
	{"log/%/#", ROUTE_LOG, false},
};

#define QUARANTINE_KEY_LEN 8
#define NUMBER_DIGITS 15

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static size_t span(const char *p, const char *end, bool (*fits)(char))
{
	size_t n = 0;

	while (p + n < end && fits(p[n]))
		n++;
	return n;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number without leading zeros; returns its length, or 0. */
static size_t number(const char *p, const char *end, uint64_t *ret)
{
	size_t n = span(p, end, is_digit);

	if (n == 0 || n > NUMBER_DIGITS || (n > 1 && p[0] == '0'))
		return 0;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret = *ret * 10 + (uint64_t)(p[i] - '0');
	return n;
}

static size_t word(const char *p, const char *end, bool (*fits)(char), size_t least, size_t most,
		   struct route *ret)
{
	size_t n = span(p, end, fits);

	if (n < least || n > most)
		return 0;
	memcpy(ret->word, p, n);
	ret->word[n] = '\0';
	return n;
}

static size_t part(char kind, const char *p, const char *end, struct route *ret)
{
	size_t n;

	switch (kind) {
	case '@':
		n = word(p, end, is_name, 1, ROUTE_WORD_MAX, ret);
		return n && p[0] != '-' && p[n - 1] != '-' ? n : 0;
	case '%':
		return word(p, end, is_hex, ROUTE_KEY_LEN, ROUTE_KEY_LEN, ret);
	case '=':
		return word(p, end, is_hex, QUARANTINE_KEY_LEN, QUARANTINE_KEY_LEN, ret);
	default:
		return number(p, end, &ret->number);
	}
}

static bool matches(const char *pattern, const char *p, const char *end, struct route *ret)
{
	for (; *pattern; pattern++) {
		size_t n;

		if (!strchr("@%=#", *pattern)) {
			if (p == end || *p != *pattern)
				return false;
			p++;
			continue;
		}
		n = part(*pattern, p, end, ret);
		if (n == 0)
			return false;
		p += n;
	}
	return p == end;
}

/* "at=12&n=200": each at most once, nothing else. */
static bool read_query(const char *p, const char *end, struct route *ret)
{
	struct {
		const char *name;
		uint64_t *value;
		bool seen;
	} known[] = {{"at=", &ret->at, false},
		     {"after=", &ret->at, false},
		     {"before=", &ret->before, false},
		     {"n=", &ret->n, false}};

	while (p < end) {
		size_t i = 0, n = 0;

		for (; i < ARRAY_SIZE(known); i++) {
			n = strlen(known[i].name);
			if ((size_t)(end - p) > n && memcmp(p, known[i].name, n) == 0)
				break;
		}
		if (i == ARRAY_SIZE(known) || known[i].seen)
			return false;
		known[i].seen = true;
		p += n;
		if (known[i].value == &ret->at && end - p >= 3 && memcmp(p, "end", 3) == 0) {
			ret->at = ROUTE_TAIL;
			n = 3;
		} else {
			n = number(p, end, known[i].value);
		}
		p += n;
		if (n == 0 || (p < end && *p++ != '&') || (p == end && p[-1] == '&'))
			return false;
	}
	return true;
}

int route_find(bool post, const char *path, size_t n, struct route *ret)
{
	const char *end = path + n, *query = memchr(path, '?', n);
	const char *stop = query ? query : end;

	*ret = (struct route){.at = 0};
	for (unsigned i = 0; i < ROUTE_FILES; i++)
		if (strlen(route_files[i].path) == n && memcmp(route_files[i].path, path, n) == 0) {
			ret->id = ROUTE_PAGE;
			ret->file = i;
			return post ? 405 : 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!matches(rows[i].pattern, path, stop, ret))
			continue;
		if (rows[i].post != post)
			return 405;
		if (query && (post || query + 1 == end || !read_query(query + 1, end, ret)))
			return 404;
		ret->id = rows[i].id;
		return 0;
	}
	return 404;
}

bool route_topic(const char *topic, struct route *ret)
{
	*ret = (struct route){.at = 0};
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		if (matches(topics[i].pattern, topic, topic + strlen(topic), ret)) {
			ret->id = topics[i].id;
			return true;
		}
	return false;
}
