#include "compose/cred-rules.h"

#include <string.h>

#include "policy/pattern.h"
#include "policy/request.h"

#define HTTPS "https://"
#define HTTPS_PORT 443
#define HTTP_PORT 80

int origin_split(const char *origin, struct host *ret, uint16_t *ret_port, const char **ret_path,
		 struct err *err)
{
	const char *at = origin + strlen(HTTPS), *path;

	if (strncmp(origin, HTTPS, strlen(HTTPS)) != 0)
		return err_usage(err, "'%.100s' does not begin with " HTTPS, origin);
	path = strchrnul(at, '/');
	*ret_path = path;
	return host_parse_authority(at, (size_t)(path - at), HTTPS_PORT, ret, ret_port, err);
}

/* A row of requests, "METHOD PREFIX [URL]"; GET allows HEAD. */
static bool method_fits(const char *row, size_t n, const char *method)
{
	return (strlen(method) == n && memcmp(row, method, n) == 0) ||
	       (n == 3 && memcmp(row, "GET", n) == 0 && streq(method, "HEAD"));
}

/* Does the request go where this row leads, and no further? */
static bool row_fits(const char *row, const struct spec_credential *c,
		     const struct gw_header_ask *ask, const struct host *host, const char *path,
		     size_t path_n)
{
	size_t method_n = strcspn(row, " ");
	const char *prefix = row + method_n + (row[method_n] == ' ');
	size_t prefix_n = strcspn(prefix, " ");
	const char *url = prefix[prefix_n] ? prefix + prefix_n + 1 : c->origin, *base;
	cleanup_free char *whole = NULL;
	struct host own;
	struct err ignored;
	uint16_t port;
	size_t n;

	if (!url || !method_fits(row, method_n, ask->method) ||
	    origin_split(url, &own, &port, &base, &ignored) < 0 || !host_equal(&own, host) ||
	    port != ask->port)
		return false;
	n = strlen(base);
	while (url == c->origin && n && base[n - 1] == '/')
		n--;
	whole = xasprintf("%.*s%.*s", (int)n, base, url == c->origin ? (int)prefix_n : 0, prefix);
	return *whole && request_path_under(path, path_n, whole);
}

static bool may_request(const struct spec_credential *c, const struct gw_header_ask *ask,
			const struct host *host)
{
	cleanup_buf struct buf canon;
	size_t path_n = 0;

	buf_init(&canon, REQUEST_TARGET_MAX);
	if (!c->endpoint || request_canon(ask->target, strlen(ask->target), &canon, &path_n) < 0)
		return false;
	for (size_t i = 0; i < c->requests.n; i++)
		if (row_fits(c->requests.v[i], c, ask, host, buf_str(&canon), path_n))
			return true;
	return false;
}

static bool rule_names(const struct sandbox_spec *spec, const char *credential,
		       const struct host *h, uint16_t port)
{
	for (size_t i = 0; i < spec->net.n_rules; i++) {
		const struct net_rule *r = &spec->net.rules[i];
		struct pattern p;
		struct err ignored;

		/* Port 80 is never TLS, and a secret goes nowhere else. */
		if (!r->deny && r->credential && streq(r->credential, credential) &&
		    port != HTTP_PORT && pattern_parse(r->pattern, false, &p, &ignored) == 0 &&
		    pattern_has_host(&p, h) && pattern_has_port(&p, port))
			return true;
	}
	return false;
}

int cred_may_ask(const struct sandbox_spec *spec, const struct gw_header_ask *ask, struct err *err)
{
	const struct spec_credential *c = spec_credential_find(spec, ask->credential);
	struct host host;

	if (!c || c->way != SPEC_WAY_PHANTOM)
		return err_set(err, ENOENT, "this sandbox has no credential of that name");
	if (ask->port == 0 || ask->port > UINT16_MAX ||
	    host_parse(ask->host, strlen(ask->host), &host, err) < 0)
		return err_set(err, EPERM, "the question for a credential names no host");
	if (may_request(c, ask, &host) || rule_names(spec, c->name, &host, (uint16_t)ask->port))
		return 0;
	return err_set(err, EPERM, "credential %s is not for this request", c->name);
}
