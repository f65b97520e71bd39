/* The proxy's own paths: health, and the endpoints that stand for providers. */
#include "gateway/exchange/route.h"

#include <stdio.h>
#include <string.h>

#include "gateway/exchange/inject.h"
#include "gateway/listen.h"
#include "gateway/exchange/phantom.h"
#include "gateway/refuse.h"
#include "policy/request.h"

static const char prefix[] = "/_ralph/";
#define PREFIX_LEN (sizeof(prefix) - 1)

bool route_has(struct slice path)
{
	return path.n >= PREFIX_LEN && memcmp(path.p, prefix, PREFIX_LEN) == 0;
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

/* "METHOD PREFIX [URL]" of a route, in parts. */
struct allowed {
	struct slice method, path, url;
};

static struct slice next_word(const char **p)
{
	size_t n = strcspn(*p, " ");
	struct slice s = {*p, n};

	*p += n;
	while (**p == ' ')
		(*p)++;
	return s;
}

static bool allows(const struct allowed *a, const char *method, const char *path, size_t path_n)
{
	char under[GW_TEXT_MAX];
	bool same = slice_eq(a->method, slice_of(method)) ||
		    (streq(method, "HEAD") && slice_eq(a->method, slice_of("GET")));

	if (!same || a->path.n == 0 || a->path.n >= sizeof(under))
		return false;
	memcpy(under, a->path.p, a->path.n);
	under[a->path.n] = '\0';
	return request_path_under(path, path_n, under);
}

/* The first of the route's requests that this one is; false: none. */
static bool judge(const struct gw_route *r, const char *method, const char *path, size_t path_n,
		  struct allowed *ret)
{
	for (size_t i = 0; i < r->requests.n; i++) {
		const char *p = r->requests.v[i];

		ret->method = next_word(&p);
		ret->path = next_word(&p);
		ret->url = next_word(&p);
		if (allows(ret, method, path, path_n))
			return true;
	}
	return false;
}

/*
 * Sets c's target and the URL of the request: the route's URL, then the path behind the endpoint.
 * If the allowed row has its own URL, that replaces the route's URL and the row's prefix.
 */
static int aim(struct conn *c, const struct gw_route *r, const struct allowed *a, struct slice path,
	       struct slice query)
{
	struct slice text = a->url.n ? a->url : slice_of(r->url);
	struct err err = {0};
	struct url url;
	struct buf b;
	size_t n;

	if (url_parse(text.p, text.n, &url) < 0 || url.scheme != URL_HTTPS || url.query.p ||
	    host_parse(url.authority.host.p, url.authority.host.n, &c->host, &err) < 0)
		return -EINVAL;
	c->port = url_port(url.scheme, url.authority.port);
	c->up_tls = true;
	n = url.path.n && url.path.p[url.path.n - 1] == '/' ? url.path.n - 1 : url.path.n;
	if (a->url.n) {
		size_t covered = a->path.n - (a->path.p[a->path.n - 1] == '/');

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
	struct allowed a = {0};
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
	if (!judge(r, c->x->method, canonical.data, path_n, &a)) {
		refuse_final(
			c, GW_DENY, 403,
			"this request is not among those that may be made with the credential");
		return;
	}
	if (aim(c, r, &a, (struct slice){canonical.data, path_n}, h->url.query) < 0) {
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
	inject_start(c, r, head_len);
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
	c->port = c->listener->row.port;
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
	c->port = c->listener->row.port;
	if (has_path && slice_eq(path, slice_of("/_ralph/health"))) {
		exchange_quiet(c);
		answer_json(c, 200, false, "{\"ok\":true}");
		return;
	}
	if (has_path && route_has(path))
		to_provider(c, h, head_len);
	else
		refuse_as(c, GW_DENY, 400, "this is a proxy: it wants absolute URLs or CONNECT");
}
