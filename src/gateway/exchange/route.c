/* The proxy's own paths: health, and the endpoints that stand for providers. */
#include "gateway/exchange/route.h"

#include <stdio.h>
#include <string.h>

#include "gateway/exchange/ask-route.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/phantom.h"
#include "flow/refuse.h"
#include "flow/route-url.h"
#include "policy/request.h"
#include "policy/request-row.h"

static const char prefix[] = "/_ralph/";
#define PREFIX_LEN (sizeof(prefix) - 1)

bool route_has(struct slice path)
{
	return path.n >= PREFIX_LEN && memcmp(path.p, prefix, PREFIX_LEN) == 0;
}

bool route_origin(const char *text, struct host *ret, uint16_t *ret_port)
{
	struct err err = {0};
	struct url url;

	if (url_parse(text, strlen(text), &url) < 0 ||
	    host_parse(url.authority.host.p, url.authority.host.n, ret, &err) < 0)
		return false;
	*ret_port = url_port(url.scheme, url.authority.port);
	return true;
}

/* at: 0 for any port */
static bool leads_to(const char *url, const struct host *h, uint16_t at)
{
	struct host host;
	uint16_t port;

	return url && route_origin(url, &host, &port) && host_equal(&host, h) &&
	       (!at || port == at);
}

const struct gw_route *route_trust(const struct conn *c, const char *credential)
{
	for (size_t i = 0; i < c->gw->config->n_routes; i++) {
		const struct gw_route *r = &c->gw->config->routes[i];

		if (r->ca_file && r->credential &&
		    (!credential || streq(r->credential, credential)) &&
		    leads_to(r->url, &c->host, c->port))
			return r;
	}
	return NULL;
}

/* Rows of a route may lead to other hosts than its own. */
bool route_has_credential(const struct gw *gw, const struct host *h)
{
	for (size_t i = 0; i < gw->config->n_routes; i++) {
		const struct gw_route *r = &gw->config->routes[i];
		struct request_row row;

		if (r->credential && leads_to(r->url, h, 0))
			return true;
		for (size_t k = 0; r->credential && k < r->requests.n; k++)
			if (request_row_parse(r->requests.v[k], &row) && leads_to(row.url, h, 0))
				return true;
	}
	return false;
}

/* The first segment of *rest, which then begins with what follows it. */
static struct slice next_segment(struct slice *rest)
{
	const char *slash = rest->n ? memchr(rest->p, '/', rest->n) : NULL;
	struct slice s = {rest->p, slash ? (size_t)(slash - rest->p) : rest->n};

	rest->p += s.n;
	rest->n -= s.n;
	return s;
}

static const struct gw_route *find(const struct gw *gw, struct slice provider)
{
	for (size_t i = 0; provider.n && i < gw->config->n_routes; i++)
		if (slice_eq(provider, slice_of(gw->config->routes[i].provider)))
			return &gw->config->routes[i];
	return NULL;
}

/* The first of the route's requests that this one is; false: none. */
static bool judge(const struct gw_route *r, const char *method, const char *path, size_t path_n,
		  struct request_row *ret)
{
	for (size_t i = 0; i < r->requests.n; i++)
		if (request_row_parse(r->requests.v[i], ret) && request_row_is(ret, method) &&
		    request_pattern_fits(ret->pattern, ret->pattern_n, path, path_n))
			return true;
	return false;
}

/*
 * Sets c's target and the URL of the request: the route's URL, then the path behind the endpoint.
 * If the row has its own URL, that replaces the route's URL and the row's part before a star.
 */
static int aim(struct conn *c, const struct gw_route *r, const struct request_row *a,
	       struct slice path, struct slice query)
{
	struct url url;
	struct buf b;
	size_t n;

	if (!route_url_parse(a->url ? a->url : r->url, &url, &c->host) || url.query.p)
		return -EINVAL;
	c->port = url_port(url.scheme, url.authority.port);
	c->up_tls = url.scheme == URL_HTTPS;
	n = url.path.n && url.path.p[url.path.n - 1] == '/' ? url.path.n - 1 : url.path.n;
	if (a->url) {
		size_t covered = request_row_fixed(a);

		path = (struct slice){path.p + covered, path.n - covered};
	}
	buf_init(&b, HTTP1_TARGET_MAX);
	(void)buf_append(&b, url.path.p ? url.path.p : "", n);
	(void)buf_append(&b, path.n ? path.p : "", path.n);
	if (b.len == 0)
		(void)buf_putc(&b, '/');
	phantom_strip_query(&b, query);
	if (b.full) {
		buf_done(&b);
		return -EINVAL;
	}
	free(c->x->target);
	c->x->target = buf_take(&b);
	return 0;
}

/* For the log: where it went, without its query. */
static void note_path(struct conn *c, struct slice provider, struct slice rest)
{
	size_t room = GW_TEXT_MAX - PREFIX_LEN - GW_NAME_MAX - 1;
	char *path = xasprintf("%s%.*s%.*s", prefix, (int)provider.n, provider.p,
			       (int)(rest.n < room ? rest.n : room), rest.p);

	free(c->x->path);
	c->x->path = path;
	phantom_hide(c->gw, c->x->path);
}

/* The request is the sandbox's own: may it be made, and where does it go? */
static void send_to(struct conn *c, const struct gw_route *r, const struct http1_head *h,
		    struct slice rest, size_t head_len)
{
	cleanup_buf struct buf canonical;
	struct request_row row;
	size_t path_n;

	buf_init(&canonical, REQUEST_TARGET_MAX);
	/* As asked before the method is judged: Codex tries this first, and takes 426 well. */
	if (h->upgrade.n) {
		refuse_final(c, GW_DENY, 426, "no upgrade of a connection with a credential");
		return;
	}
	if (rest.n == 0)
		rest = slice_of("/");
	if (request_canon(rest.p, rest.n, &canonical, &path_n) < 0) {
		refuse_final(c, GW_DENY, 403, "the path can be read in more than one way");
		return;
	}
	if (!judge(r, c->x->method, canonical.data, path_n, &row)) {
		refuse_final(
			c, GW_DENY, 403,
			"this request is not among those that may be made with the credential");
		return;
	}
	if (aim(c, r, &row, (struct slice){canonical.data, path_n}, h->url.query) < 0) {
		refuse_final(c, GW_ERROR, 503, "this provider's address is no https:// URL");
		return;
	}
	if (phantom_astray(c, h, r->credential)) {
		refuse_final(c, GW_DENY, 403, "a phantom is sent where it does not belong");
		return;
	}
	c->has_target = true;
	c->verdict = (struct verdict){.allow = true, .rule = -1};
	c->x->credential = inject_name(c->gw, r->credential);
	c->x->kind = row.kind;
	inject_start(c, r, head_len);
}

static bool row_leads(const struct request_row *row, const struct gw_route *r, const struct conn *c,
		      const char *path, size_t path_n)
{
	cleanup_free char *whole = NULL;
	struct err ignored;
	struct host host;
	const char *base;
	uint16_t port;

	if (origin_split(row->url ? row->url : r->url, &host, &port, &base, &ignored) < 0 ||
	    !host_equal(&host, &c->host) || port != c->port)
		return false;
	whole = request_row_whole(row, base);
	return request_pattern_fits(whole, strlen(whole), path, path_n);
}

enum request_kind route_kind(const struct conn *c, const struct gw_route *r)
{
	cleanup_buf struct buf canonical;
	size_t path_n;

	buf_init(&canonical, REQUEST_TARGET_MAX);
	if (request_canon(c->x->target, strlen(c->x->target), &canonical, &path_n) < 0)
		return REQUEST_UNKNOWN;
	for (size_t i = 0; i < r->requests.n; i++) {
		struct request_row row;

		if (request_row_parse(r->requests.v[i], &row) &&
		    request_row_is(&row, c->x->method) &&
		    row_leads(&row, r, c, canonical.data, path_n))
			return row.kind;
	}
	return streq(c->x->method, "GET") || streq(c->x->method, "HEAD") ? REQUEST_FREE
									 : REQUEST_UNKNOWN;
}

static const char no_phantom[] = "the request does not carry this sandbox's phantom";

/* Does the request carry the route's phantom? Clients that send no key have it in their URL, as
 * the first segment of *rest, which then begins behind it. */
static bool carries(const struct gw_route *r, const struct http1_head *h, struct slice *rest)
{
	struct slice behind = {rest->p + 1, rest->n - 1};

	if (phantom_in_fields(r, h))
		return true;
	if (rest->n <= 1 || !phantom_is(r, next_segment(&behind)))
		return false;
	*rest = behind;
	return true;
}

static void to_provider(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct slice rest = {h->url.path.p + PREFIX_LEN, h->url.path.n - PREFIX_LEN};
	struct slice provider = next_segment(&rest);
	const struct gw_route *r = find(c->gw, provider);

	c->x->provider = true;
	note_path(c, provider, rest);
	if (!r) {
		refuse_final(c, GW_DENY, 404,
			     "no provider of that name is set up for this sandbox");
		return;
	}
	if (!r->credential || !r->phantom) {
		refuse_final(c, GW_ERROR, 503, "this provider has no credential");
		return;
	}
	(void)snprintf(c->rule, sizeof(c->rule), "credential %s", r->credential);
	if (!carries(r, h, &rest)) {
		refuse_final(c, GW_DENY, 401, no_phantom);
		return;
	}
	note_path(c, provider, rest);
	send_to(c, r, h, rest, head_len);
}

void route_endpoint(struct conn *c, const struct http1_head *h, size_t head_len)
{
	bool has_path = h->form == HTTP1_ORIGIN || h->form == HTTP1_ABSOLUTE;
	const struct gw_route *r = NULL;
	struct slice rest;

	c->host.name[0] = '\0';
	c->port = c->listen_port;
	if (has_path && route_has(h->url.path)) {
		rest = (struct slice){h->url.path.p + PREFIX_LEN, h->url.path.n - PREFIX_LEN};
		r = find(c->gw, next_segment(&rest));
	}
	if (r && carries(r, h, &rest))
		to_provider(c, h, head_len);
	else
		refuse_final(c, GW_DENY, 401, no_phantom);
}

void route_request(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct slice path = h->url.path;
	bool has_path = h->form == HTTP1_ORIGIN || h->form == HTTP1_ABSOLUTE;

	c->host.name[0] = '\0';
	c->port = c->listen_port;
	if (has_path && slice_eq(path, slice_of("/_ralph/health"))) {
		exchange_quiet(c);
		answer_json(c, 200, "{\"ok\":true}");
		return;
	}
	if (has_path && asks_request(c, h, head_len))
		return;
	if (has_path && route_has(path))
		to_provider(c, h, head_len);
	else
		refuse_as(c, GW_DENY, 400, "this is a proxy: it wants absolute URLs or CONNECT");
}
