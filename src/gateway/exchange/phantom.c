#include "gateway/exchange/phantom.h"

#include <string.h>

#include "base/text/base64.h"
#include "gateway/exchange/exchange.h"
#include "base/text/needles.h"

enum kind {
	ORDINARY,
	KEY,   /* clients put keys there */
	STRIP, /* not sent beside a credential */
};

/*
 * Beside keys: sessions; parts of an answer, in which half a secret would not be found; encodings.
 */
static const struct {
	const char *name;
	uint8_t n;
	enum kind kind;
} fields[] = {
#define ROW(name, kind)                                                                            \
	{                                                                                          \
		name, sizeof(name) - 1, kind                                                       \
	}
	ROW("authorization", KEY),
	ROW("x-api-key", KEY),
	ROW("api-key", KEY),
	ROW("x-goog-api-key", KEY),
	ROW("proxy-authorization", KEY),
	ROW("private-token", KEY),
	ROW("x-auth-token", KEY),
	ROW("cookie", STRIP),
	ROW("cookie2", STRIP),
	ROW("range", STRIP),
	ROW("if-range", STRIP),
	ROW("accept-encoding", STRIP),
	ROW("grpc-accept-encoding", STRIP),
#undef ROW
};

static const char *const query_keys[] = {"key",		 "api_key",	"api-key",   "apikey",
					 "access_token", "oauth_token", "httpmethod"};

static bool begins(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && slice_ieq((struct slice){s.p, n}, slice_of(with));
}

/* '_' counts as '-', which servers like CGI do not tell apart. */
static bool is_field(struct slice name, const char *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((name.p[i] == '_' ? '-' : ascii_lower(name.p[i])) != row[i])
			return false;
	return true;
}

static enum kind kind_of(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].n == name.n && is_field(name, fields[i].name, name.n))
			return fields[i].kind;
	return name.n > 6 && is_field(name, "x-amz-", 6) ? STRIP : ORDINARY;
}

void phantoms_init(struct gw *gw)
{
	const char *texts[GW_ROUTES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < gw->config->n_routes; i++)
		if (gw->config->routes[i].phantom)
			texts[n++] = gw->config->routes[i].phantom;
	gw->phantoms = needles_new(texts, n);
}

bool phantom_is(const struct gw_route *r, struct slice text)
{
	size_t n = r->phantom ? strlen(r->phantom) : 0;
	unsigned char diff = text.n != n;

	for (size_t i = 0; i < text.n && n; i++)
		diff |= (unsigned char)(text.p[i] ^ r->phantom[i < n ? i : n]);
	return n && diff == 0;
}

/* "Bearer X" and "token X" are X. */
static struct slice without_scheme(struct slice v)
{
	static const char *const schemes[] = {"bearer ", "token "};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (v.n > n && begins(v, schemes[i]))
			return (struct slice){v.p + n, v.n - n};
	}
	return v;
}

bool phantom_in_fields(const struct gw_route *r, const struct http1_head *h)
{
	bool found = false;

	for (size_t i = 0; i < h->n_fields; i++)
		if (kind_of(h->fields[i].name) == KEY &&
		    phantom_is(r, without_scheme(h->fields[i].value)))
			found = true;
	return found;
}

/* A password of Basic may be the phantom: git sends it so. */
static bool basic_holds(struct slice v, const char *phantom)
{
	cleanup_buf struct buf b;

	buf_init(&b, HTTP1_HEAD_MAX);
	if (!begins(v, "basic ") || base64_get(&b, v.p + 6, v.n - 6) < 0 || !b.data)
		return false;
	return memmem(b.data, b.len, phantom, strlen(phantom)) != NULL;
}

/* Every phantom in this key's field is one of that credential. */
static bool is_own(const struct gw *gw, struct slice v, const char *credential)
{
	for (size_t i = 0; credential && i < gw->config->n_routes; i++) {
		const struct gw_route *r = &gw->config->routes[i];

		if (!r->phantom || !r->credential || !streq(r->credential, credential))
			continue;
		if (phantom_is(r, without_scheme(v)) || basic_holds(v, r->phantom))
			return true;
	}
	return false;
}

static bool holds(const struct gw *gw, struct slice s)
{
	size_t len = 0;

	if (s.n)
		(void)needles_find(gw->phantoms, s.p, s.n, &len);
	return len > 0;
}

/* Also with escapes where none are needed. */
static bool escaped_holds(const struct gw *gw, struct slice s)
{
	cleanup_free char *plain = s.n && memchr(s.p, '%', s.n) ? xmalloc(s.n) : NULL;
	size_t n = plain ? url_unescape(s, plain) : 0;

	return n && holds(gw, (struct slice){plain, n});
}

bool phantom_astray(struct conn *c, const struct http1_head *h, const char *credential)
{
	struct slice target = c->x->target ? slice_of(c->x->target) : h->target;

	if (!c->gw->phantoms)
		return false;
	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (!holds(c->gw, f->value) && !holds(c->gw, f->name))
			continue;
		if (kind_of(f->name) != KEY || !is_own(c->gw, f->value, credential))
			return true;
	}
	return holds(c->gw, target) || escaped_holds(c->gw, target);
}

void phantom_hide(const struct gw *gw, char *text)
{
	size_t n = strlen(text), at = 0, len;

	while (gw->phantoms) {
		at += needles_find(gw->phantoms, text + at, n - at, &len);
		if (!len)
			return;
		memset(text + at, '*', len);
	}
}

bool phantom_strips(struct slice name)
{
	return kind_of(name) != ORDINARY;
}

void phantom_strip(struct http1_head *h)
{
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= phantom_strips(h->fields[i].name);
}

static bool is_key(struct slice name)
{
	char plain[64];
	struct slice s;

	if (name.n > sizeof(plain))
		return false;
	s = (struct slice){plain, url_unescape(name, plain)};
	if (s.n && s.p[0] == '$') /* as Google's APIs also write their own parameters */
		s = (struct slice){s.p + 1, s.n - 1};
	for (size_t i = 0; i < ARRAY_SIZE(query_keys); i++)
		if (slice_is(s, query_keys[i]))
			return true;
	return begins(s, "x-amz-");
}

/* Of a host that nobody here knows: a parameter that is just called "key" may be anything. */
static bool is_token(struct slice name)
{
	static const char *const tokens[] = {"access_token", "oauth_token", "private_token"};
	char plain[64];
	struct slice s;

	if (name.n > sizeof(plain))
		return false;
	s = (struct slice){plain, url_unescape(name, plain)};
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		if (slice_is(s, tokens[i]))
			return true;
	return false;
}

static void strip_query(struct buf *b, struct slice query, bool (*drops)(struct slice))
{
	const char *p = query.p ? query.p : "", *end = p + query.n;
	char before = '?';

	while (query.p && p <= end) {
		const char *amp = p < end ? memchr(p, '&', (size_t)(end - p)) : NULL;
		size_t n = (size_t)((amp ? amp : end) - p);
		const char *eq = n ? memchr(p, '=', n) : NULL;

		if (!drops((struct slice){p, eq ? (size_t)(eq - p) : n})) {
			(void)buf_putc(b, before);
			(void)buf_append(b, p, n);
			before = '&';
		}
		if (!amp)
			return;
		p = amp + 1;
	}
}

void phantom_strip_query(struct buf *b, struct slice query)
{
	strip_query(b, query, is_key);
}

void phantom_strip_tokens(char **target)
{
	const char *query = strchr(*target, '?');
	cleanup_buf struct buf b;

	buf_init(&b, strlen(*target) + 1);
	if (!query)
		return;
	(void)buf_append(&b, *target, (size_t)(query - *target));
	strip_query(&b, slice_of(query + 1), is_token);
	free(*target);
	*target = buf_take(&b);
}
