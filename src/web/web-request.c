#include "web/web-request.h"

#include <string.h>

static bool is_loopback(struct slice host, bool v6)
{
	return v6 ? slice_is(host, "::1")
		  : slice_is(host, "127.0.0.1") || slice_is(host, "localhost");
}

static bool is_named(const struct request_rules *rules, struct slice host)
{
	for (size_t i = 0; i < rules->hosts.n; i++)
		if (slice_is(host, rules->hosts.v[i]))
			return true;
	return false;
}

static bool begins(struct slice s, const char *prefix)
{
	return s.n >= strlen(prefix) && memcmp(s.p, prefix, strlen(prefix)) == 0;
}

/* The origin must be there, and be the scheme with the very bytes of Host. A name of --host stands
 * behind a proxy that may speak TLS for us. */
static bool own_origin(const struct request_rules *rules, const struct http1_head *h, bool named)
{
	const struct http1_field *origin = http1_find(h, "origin"), *host = http1_find(h, "host");
	struct slice o;

	if (!origin || !host)
		return false;
	o = origin->value;
	if (begins(o, "https://") && (rules->tls || named))
		o = (struct slice){o.p + 8, o.n - 8};
	else if (begins(o, "http://") && !rules->tls)
		o = (struct slice){o.p + 7, o.n - 7};
	else
		return false;
	return slice_ieq(o, host->value);
}

/* Browsers that send the field say the truth in it; scripts cannot set it. */
static bool own_site(const struct http1_head *h)
{
	const struct http1_field *site = http1_find(h, "sec-fetch-site");

	return !site || slice_is(site->value, "same-origin");
}

static bool is_twice(const struct http1_head *h, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_fields; i++)
		n += slice_is(h->fields[i].name, name);
	return n > 1;
}

unsigned request_check(const struct request_rules *rules, const struct http1_head *h,
		       enum request_kind kind)
{
	const struct http1_field *type = http1_find(h, "content-type");
	bool loopback = is_loopback(h->host.host, h->host.v6);
	bool named = !h->host.v6 && is_named(rules, h->host.host);

	if (h->host.host.n == 0 || (!loopback && !named))
		return 421;
	if (kind == REQUEST_PAGE)
		return 0;
	if (!own_site(h) || is_twice(h, "origin") || is_twice(h, "sec-fetch-site"))
		return 403;
	if (kind == REQUEST_READ)
		return !http1_find(h, "origin") || own_origin(rules, h, named) ? 0 : 403;
	if (!own_origin(rules, h, named))
		return 403;
	return type && slice_is(type->value, "application/json") ? 0 : 415;
}

const char *request_cookie_name(bool tls)
{
	return tls ? "__Host-ralph" : "ralph";
}

static bool take_half(struct slice s, char ret[REQUEST_HALF_LEN + 1])
{
	if (s.n != REQUEST_HALF_LEN)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("0123456789abcdef", s.p[i]) || !s.p[i])
			return false;
	memcpy(ret, s.p, s.n);
	ret[s.n] = '\0';
	return true;
}

/* "a=1; ralph=…": other servers of this host can set cookies beside ours, so only an exact name
 * with a value of the right form counts. */
static bool find_cookie(struct slice s, const char *name, char ret[REQUEST_HALF_LEN + 1])
{
	size_t n = strlen(name);

	while (s.n > 0) {
		const char *semi = memchr(s.p, ';', s.n);
		struct slice one = {s.p, semi ? (size_t)(semi - s.p) : s.n};

		if (one.n > n && one.p[n] == '=' && memcmp(one.p, name, n) == 0 &&
		    take_half((struct slice){one.p + n + 1, one.n - n - 1}, ret))
			return true;
		s = semi ? (struct slice){semi + 1, s.n - one.n - 1} : (struct slice){NULL, 0};
		while (s.n > 0 && *s.p == ' ')
			s = (struct slice){s.p + 1, s.n - 1};
	}
	return false;
}

bool request_halves(const struct http1_head *h, bool tls, char cookie[REQUEST_HALF_LEN + 1],
		    char key[REQUEST_HALF_LEN + 1])
{
	const struct http1_field *k = http1_find(h, "x-ralph-key"), *c = http1_find(h, "cookie");

	return k && c && take_half(k->value, key) &&
	       find_cookie(c->value, request_cookie_name(tls), cookie);
}
