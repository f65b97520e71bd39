#include "http/url.h"

/* Bytes above 0x7f pass: the host canonicaliser speaks IDNA and refuses what it cannot map. */
static bool host_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_' || c >= 0x80;
}

static bool v6_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') ||
	       c == ':' || c == '.';
}

static int split_port(const char *p, size_t n, uint16_t *ret)
{
	unsigned int v = 0;

	if (n < 1 || n > 5 || p[0] == '0')
		return -URL_PORT;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -URL_PORT;
		v = v * 10 + (unsigned int)(p[i] - '0');
	}
	if (v > UINT16_MAX)
		return -URL_PORT;
	*ret = (uint16_t)v;
	return 0;
}

/* The length of the host at p, or -reason; *ret_rest is where ":port" or the end stands. */
static int split_host(const char *p, size_t n, struct url_authority *a, size_t *ret_rest)
{
	size_t i;

	if (n > 0 && p[0] == '[') {
		for (i = 1; i < n && v6_byte((unsigned char)p[i]);)
			i++;
		/* "::" is the shortest address, a full one with a dotted tail has 45 bytes. */
		if (i == n || p[i] != ']' || i < 3 || i > 46)
			return -URL_HOST;
		*a = (struct url_authority){.host = {p + 1, i - 1}, .v6 = true};
		*ret_rest = i + 1;
		return 0;
	}
	for (i = 0; i < n && host_byte((unsigned char)p[i]);)
		i++;
	if (i == 0 || i > URL_HOST_MAX)
		return -URL_HOST;
	*a = (struct url_authority){.host = {p, i}};
	*ret_rest = i;
	return 0;
}

static int split_authority(const char *p, size_t n, struct url_authority *ret)
{
	struct url_authority a;
	size_t rest;
	int r;

	if (n > URL_HOST_MAX + 8)
		return -URL_HOST;
	r = split_host(p, n, &a, &rest);
	if (r < 0)
		return r;
	if (rest < n) {
		if (p[rest] != ':')
			return -URL_HOST;
		r = split_port(p + rest + 1, n - rest - 1, &a.port);
		if (r < 0)
			return r;
	}
	*ret = a;
	return 0;
}

int url_split_authority(const char *p, size_t n, struct url_authority *ret)
{
	int r = split_authority(p, n, ret);

	/* No part may hold an '@', so it can only stand in what was refused. */
	return r < 0 && n > 0 && memchr(p, '@', n) ? -URL_USERINFO : r;
}

int url_split_host_port(const char *p, size_t n, struct url_authority *ret)
{
	struct url_authority a;
	int r = url_split_authority(p, n, &a);

	if (r < 0)
		return r;
	if (!a.port)
		return -URL_NO_PORT;
	*ret = a;
	return 0;
}

/* Visible ASCII without '#'; *ret_query is the offset of the first '?', or n. */
static int check_path(const char *p, size_t n, size_t *ret_query)
{
	size_t query = n;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c <= ' ' || c >= 0x7f || c == '#')
			return -URL_BYTES;
		if (c == '?' && query == n)
			query = i;
	}
	*ret_query = query;
	return 0;
}

static int split_path(const char *p, size_t n, struct slice *path, struct slice *query)
{
	size_t q;
	int r = check_path(p, n, &q);

	if (r < 0)
		return r;
	*path = (struct slice){p, q};
	*query = q < n ? (struct slice){p + q + 1, n - q - 1} : (struct slice){NULL, 0};
	return 0;
}

int url_split_path(const char *p, size_t n, struct slice *ret_path, struct slice *ret_query)
{
	if (n > URL_MAX)
		return -URL_TOO_LONG;
	if (n < 1 || p[0] != '/')
		return -URL_BYTES;
	return split_path(p, n, ret_path, ret_query);
}

int url_parse(const char *p, size_t n, struct url *ret)
{
	struct url u = {0};
	size_t start, end;
	int r;

	if (n > URL_MAX)
		return -URL_TOO_LONG;
	if (n >= 7 && slice_is((struct slice){p, 7}, "http://")) {
		u.scheme = URL_HTTP;
		start = 7;
	} else if (n >= 8 && slice_is((struct slice){p, 8}, "https://")) {
		u.scheme = URL_HTTPS;
		start = 8;
	} else {
		return -URL_SCHEME;
	}
	/* '#' ends the authority too; it is refused with the path. */
	for (end = start; end < n && p[end] != '/' && p[end] != '?' && p[end] != '#';)
		end++;
	r = url_split_authority(p + start, end - start, &u.authority);
	if (r < 0)
		return r;
	r = split_path(p + end, n - end, &u.path, &u.query);
	if (r < 0)
		return r;
	*ret = u;
	return 0;
}

uint16_t url_port(enum url_scheme scheme, uint16_t port)
{
	if (port)
		return port;
	switch (scheme) {
	case URL_HTTP:
		return 80;
	case URL_HTTPS:
		return 443;
	case URL_NO_SCHEME:
		break;
	}
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t url_unescape(struct slice s, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int hi = s.p[i] == '%' && i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1;
		int lo = hi >= 0 ? hex_digit(s.p[i + 2]) : -1;

		out[n++] = lo >= 0 ? (char)(hi << 4 | lo) : s.p[i];
		i += lo >= 0 ? 2 : 0;
	}
	return n;
}
