#include "cred/hold/cred-judge.h"

#include <stdio.h>
#include <string.h>

#include "policy/request.h"
#include "policy/request-row.h"

#define HTTP_PORT 80

/* Does the request go where this row leads, and no further? */
static bool row_fits(const char *text, const struct cred *c, const struct gw_header_ask *ask,
		     const struct host *host, const char *path, size_t path_n,
		     enum request_kind *ret_kind)
{
	cleanup_free char *whole = NULL;
	struct request_row row;
	struct err ignored;
	struct host own;
	const char *url, *base;
	uint16_t port;

	if (!request_row_parse(text, &row) || !request_row_is(&row, ask->method))
		return false;
	url = row.url ? row.url : c->origin;
	if (!url || origin_split(url, &own, &port, &base, &ignored) < 0 ||
	    !host_equal(&own, host) || port != ask->port)
		return false;
	whole = request_row_whole(&row, base);
	*ret_kind = row.kind;
	return request_pattern_fits(whole, strlen(whole), path, path_n);
}

static bool may_request(const struct cred *c, const struct gw_header_ask *ask,
			const struct host *host, enum request_kind *ret_kind)
{
	cleanup_buf struct buf canon;
	size_t path_n = 0;

	buf_init(&canon, REQUEST_TARGET_MAX);
	if (!c->endpoint || request_canon(ask->target, strlen(ask->target), &canon, &path_n) < 0)
		return false;
	for (size_t i = 0; i < c->requests.n; i++)
		if (row_fits(c->requests.v[i], c, ask, host, buf_str(&canon), path_n, ret_kind))
			return true;
	return false;
}

/* The rule that the gateway must have found for this request, if it names this credential. */
static const struct policy_rule *rule_for(const struct policy *p, const char *credential,
					  const struct gw_header_ask *ask, const struct host *host)
{
	struct verdict name, v;
	const char *named;
	cleanup_buf struct buf canon;

	buf_init(&canon, REQUEST_TARGET_MAX + 2);
	/* Port 80 is never TLS, and a secret goes nowhere else. */
	if (!p || ask->port == HTTP_PORT)
		return NULL;
	policy_name(p, host, (uint16_t)ask->port, &name);
	if (!name.allow || !name.inspect)
		return NULL;
	policy_request(p, &name, host, (uint16_t)ask->port, ask->method, ask->target,
		       strlen(ask->target), &canon, &v);
	named = policy_credential(p, &v);
	return named && streq(named, credential) ? policy_rule_of(p, &v) : NULL;
}

int cred_judge(const struct cred *c, const struct policy *policy, const struct gw_header_ask *ask,
	       const struct policy_rule **ret_rule, enum request_kind *ret_kind, struct err *err)
{
	struct host host;

	*ret_rule = NULL;
	if (!c || c->inside)
		return err_set(err, ENOENT, "this sandbox has no credential of that name");
	if (ask->port == 0 || ask->port > UINT16_MAX ||
	    host_parse(ask->host, strlen(ask->host), &host, err) < 0)
		return err_set(err, EPERM, "the question for a credential names no host");
	if (may_request(c, ask, &host, ret_kind))
		return 0;
	*ret_kind = streq(ask->method, "GET") || streq(ask->method, "HEAD") ? REQUEST_FREE
									    : REQUEST_UNKNOWN;
	*ret_rule = rule_for(policy, c->name, ask, &host);
	return *ret_rule ? 0
			 : err_set(err, EPERM, "credential %s is not for this request", c->name);
}

static void put_list(struct buf *b, const struct strv *list, char between)
{
	for (size_t i = 0; i < list->n; i++)
		(void)buf_printf(b, "%c%s", i ? between : ' ', list->v[i]);
}

void cred_rule_text(const struct policy_rule *rule, char *ret, size_t size)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	(void)buf_puts(&b, rule->text.pattern);
	put_list(&b, &rule->text.methods, ',');
	put_list(&b, &rule->text.paths, ' ');
	put_list(&b, &rule->text.git, ',');
	(void)snprintf(ret, size, "%s", buf_str(&b));
}
