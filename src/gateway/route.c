#include "gateway/route.h"

#include <string.h>

#include "gateway/http.h"
#include "gateway/listen.h"
#include "gateway/refuse.h"

static const char prefix[] = "/_ralph/";

/* The time does not depend on where two strings differ. */
static bool same(struct slice a, const char *b)
{
	size_t n = strlen(b);
	unsigned char diff = a.n != n;

	for (size_t i = 0; i < a.n; i++)
		diff |= (unsigned char)(a.p[i] ^ b[i < n ? i : n]);
	return diff == 0;
}

/* The route's phantom, where clients put their keys. */
static bool has_token(const struct gw_route *r, const struct http1_head *h)
{
	static const char *const fields[] = {"authorization", "x-api-key", "api-key",
					     "x-goog-api-key"};
	const char *token = r->phantom;

	for (size_t i = 0; token && i < ARRAY_SIZE(fields); i++) {
		const struct http1_field *f = http1_find(h, fields[i]);
		struct slice v = f ? f->value : (struct slice){0};

		if (v.n > 7 && slice_is((struct slice){v.p, 7}, "bearer ")) {
			v.p += 7;
			v.n -= 7;
		}
		if (v.n && same(v, token))
			return true;
	}
	return false;
}

static const struct gw_route *find(const struct gw *gw, struct slice provider)
{
	for (size_t i = 0; i < gw->config->n_routes; i++)
		if (slice_eq(provider, slice_of(gw->config->routes[i].provider)))
			return &gw->config->routes[i];
	return NULL;
}

/* Where the route leads: its URL's path, then what stood behind the provider. */
static int aim(struct conn *c, const struct gw_route *r, struct slice rest, struct slice query)
{
	struct err err = {0};
	struct url url;
	struct buf b;
	size_t n;

	if (url_parse(r->url, strlen(r->url), &url) < 0 ||
	    host_parse(url.authority.host.p, url.authority.host.n, &c->host, &err) < 0)
		return -EINVAL;
	c->port = url_port(url.scheme, url.authority.port);
	c->up_tls = url.scheme == URL_HTTPS;
	n = url.path.n && url.path.p[url.path.n - 1] == '/' ? url.path.n - 1 : url.path.n;
	buf_init(&b, HTTP1_TARGET_MAX);
	(void)buf_append(&b, url.path.p ? url.path.p : "", n);
	(void)buf_append(&b, rest.n ? rest.p : "/", rest.n ? rest.n : 1);
	if (query.p) {
		(void)buf_putc(&b, '?');
		(void)buf_append(&b, query.p, query.n);
	}
	if (b.full) {
		buf_done(&b);
		return -EINVAL;
	}
	c->x->target = buf_take(&b);
	if (r->credential)
		c->x->credential = xstrdup(r->credential);
	return 0;
}

static void to_provider(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct slice rest = {h->url.path.p + sizeof(prefix) - 1,
			     h->url.path.n - sizeof(prefix) + 1};
	const char *slash = memchr(rest.p, '/', rest.n);
	struct slice provider = {rest.p, slash ? (size_t)(slash - rest.p) : rest.n};
	const struct gw_route *r = find(c->gw, provider);

	if (!r) {
		refuse_as(c, GW_DENY, 404, "no provider of that name is set up for this sandbox");
		return;
	}
	if (!r->credential) {
		refuse_as(c, GW_ERROR, 503, "this provider has no credential");
		return;
	}
	if (!has_token(r, h)) {
		refuse_as(c, GW_DENY, 401, "the request does not carry this sandbox's token");
		return;
	}
	rest.p += provider.n;
	rest.n -= provider.n;
	if (aim(c, r, rest, h->url.query) < 0) {
		refuse_as(c, GW_ERROR, 503, "this provider's address is no URL");
		return;
	}
	c->has_target = true;
	http_decide(c, h, head_len);
}

void route_request(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct slice path = h->url.path;

	c->host.name[0] = '\0';
	c->port = c->listener->row.port;
	if (h->form == HTTP1_ORIGIN && slice_eq(path, slice_of("/_ralph/health"))) {
		exchange_quiet(c);
		answer_json(c, 200, false, "{\"ok\":true}");
		return;
	}
	if (h->form == HTTP1_ORIGIN && path.n >= sizeof(prefix) - 1 &&
	    memcmp(path.p, prefix, sizeof(prefix) - 1) == 0) {
		to_provider(c, h, head_len);
		return;
	}
	refuse_as(c, GW_DENY, 400, "this is a proxy: it wants absolute URLs or CONNECT");
}
