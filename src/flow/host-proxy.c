#include "flow/host-proxy.h"

#include <string.h>
#include <strings.h>

#include "base/text/base64.h"
#include "http/url.h"

/* "user:pass" with %XX, as a URL writes it, into a Proxy-Authorization value. */
static char *basic_auth(const char *p, size_t n)
{
	cleanup_free char *plain = xmalloc(n + 1);
	size_t len = url_unescape((struct slice){p, n}, plain);
	struct buf out;

	buf_init(&out, GW_SECRET_MAX * 2);
	(void)buf_puts(&out, "Basic ");
	base64_put(&out, plain, len);
	explicit_bzero(plain, n + 1);
	return buf_take(&out);
}

static int read_proxy(const char *text, const char *var, struct host_proxy *ret, struct err *err)
{
	const char *p = text, *at, *end;
	struct url_authority a;

	if (!text || !text[0])
		return 0;
	if (strncasecmp(p, "https://", 8) == 0 || strncasecmp(p, "socks", 5) == 0)
		return err_set(err, EINVAL, "%s: only http:// proxies are supported", var);
	if (strncasecmp(p, "http://", 7) == 0)
		p += 7;
	end = p + strcspn(p, "/?#");
	at = memrchr(p, '@', (size_t)(end - p));
	if (at) {
		ret->auth = basic_auth(p, (size_t)(at - p));
		p = at + 1;
	}
	if (url_split_authority(p, (size_t)(end - p), &a) < 0 ||
	    host_parse(a.host.p, a.host.n, &ret->host, err) < 0)
		return err_set(err, EINVAL, "%s: not the URL of a proxy", var);
	ret->port = a.port ? a.port : 80;
	ret->set = true;
	return 0;
}

struct host_proxies *host_proxies_new(const struct gw_config *c, struct err *err)
{
	struct host_proxies *proxies = xcalloc(1, sizeof(*proxies));

	strv_init(&proxies->direct);
	if (read_proxy(c->http_proxy, "HTTP_PROXY", &proxies->http, err) < 0 ||
	    read_proxy(c->https_proxy, "HTTPS_PROXY", &proxies->https, err) < 0)
		return host_proxies_free(proxies);
	if (c->no_proxy)
		strv_split(&proxies->direct, c->no_proxy, ',');
	return proxies;
}

struct host_proxies *host_proxies_free(struct host_proxies *c)
{
	if (!c)
		return NULL;
	free(c->http.auth);
	free(c->https.auth);
	strv_done(&c->direct);
	free(c);
	return NULL;
}

/* "example.com" and ".example.com" mean that host and all below, "*" everything, "host:port" that
 * port: what curl and Go agree about. Addresses and ranges are matched by value. */
static bool is_direct(const char *entry, const struct host *h, uint16_t port)
{
	struct err err = {0};
	struct cidr cidr;
	const char *colon;
	size_t n;

	entry += strspn(entry, " \t");
	n = strcspn(entry, " \t");
	if (n == 1 && entry[0] == '*')
		return true;
	if (h->kind != HOST_NAME)
		return cidr_parse(entry, n, &cidr, &err) == 0 && cidr_contains(&cidr, &h->ip);
	colon = memchr(entry, ':', n);
	if (colon) {
		uint16_t only;

		if (port_parse(colon + 1, (size_t)(entry + n - colon) - 1, &only) < 0 ||
		    only != port)
			return false;
		n = (size_t)(colon - entry);
	}
	if (n > 1 && entry[0] == '*' && entry[1] == '.') {
		entry++;
		n--;
	}
	if (n && entry[0] == '.') {
		entry++;
		n--;
	}
	return n && n <= h->len && strncasecmp(h->name + h->len - n, entry, n) == 0 &&
	       (n == h->len || h->name[h->len - n - 1] == '.');
}

const struct host_proxy *host_proxy_for(const struct host_proxies *c, const struct host *h,
					uint16_t port, bool plain_http)
{
	const struct host_proxy *p = plain_http ? &c->http : &c->https;

	if (!p->set || h->kind != HOST_NAME || host_is_loopback_name(h))
		return NULL;
	for (size_t i = 0; i < c->direct.n; i++)
		if (is_direct(c->direct.v[i], h, port))
			return NULL;
	return p;
}
