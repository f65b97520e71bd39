#include "sandbox/cred-rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "policy/pattern.h"

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

/* A server could take such a path for another one than we do. */
static bool is_ambiguous(const char *path, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (path[i] == '\\' || strncasecmp(path + i, "%2e", 3) == 0 ||
		    strncasecmp(path + i, "%5c", 3) == 0)
			return true;
		if (path[i] == '/' && path[i + 1] == '.' &&
		    (i + 2 >= n || path[i + 2] == '/' ||
		     (path[i + 2] == '.' && (i + 3 >= n || path[i + 3] == '/'))))
			return true;
	}
	return false;
}

/* "POST /v1/messages": the method, and where the path begins; a word of it is whole. */
static bool matches(const char *request, const char *method, const char *path, size_t n)
{
	const char *prefix = strchr(request, ' ');
	size_t len;

	if (!prefix || strncmp(request, method, (size_t)(prefix - request)) != 0 ||
	    method[prefix - request])
		return false;
	prefix++;
	len = strlen(prefix);
	return len > 0 && len <= n && memcmp(path, prefix, len) == 0 &&
	       (len == n || !isalnum((unsigned char)prefix[len - 1]) || path[len] == '/' ||
		path[len] == ':');
}

static bool may_request(const struct spec_credential *c, const struct gw_header_ask *ask,
			const char *base)
{
	size_t skip = strlen(base), n = strcspn(ask->target, "?");

	if (skip && base[skip - 1] == '/')
		skip--;
	if (n < skip || strncmp(ask->target, base, skip) != 0 || is_ambiguous(ask->target, n))
		return false;
	for (size_t i = 0; i < c->requests.n; i++)
		if (matches(c->requests.v[i], ask->method, ask->target + skip, n - skip))
			return true;
	return false;
}

static bool rule_names(const struct sandbox_spec *spec, const char *credential,
		       const struct host *h, uint16_t port)
{
	for (size_t i = 0; i < spec->net.n_rules; i++) {
		const struct spec_net_rule *r = &spec->net.rules[i];
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
	struct host host, own;
	uint16_t port = 0;
	const char *base = "";

	if (!c || c->way != SPEC_WAY_PHANTOM)
		return err_set(err, ENOENT, "this sandbox has no credential of that name");
	if (ask->port == 0 || ask->port > UINT16_MAX ||
	    host_parse(ask->host, strlen(ask->host), &host, err) < 0)
		return err_set(err, EPERM, "the question for a credential names no host");
	if (c->origin && c->endpoint && origin_split(c->origin, &own, &port, &base, err) == 0 &&
	    host_equal(&own, &host) && port == ask->port && may_request(c, ask, base))
		return 0;
	if (rule_names(spec, c->name, &host, (uint16_t)ask->port))
		return 0;
	return err_set(err, EPERM, "credential %s is not for this request", c->name);
}
