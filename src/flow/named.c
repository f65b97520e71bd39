/*
 * Rules by name hold however the server was reached. A connection may be dialled by an address or by
 * another name than the one that its first bytes give: a ClientHello, or the Host field of plain
 * HTTP. Those bytes choose what the server shows, so the name in them is judged like a name that
 * was dialled. If the name is inspected, or the target is an address that may not be reached without
 * one, the name becomes the target. Its own addresses are dialled then, never the address that the
 * client chose, which could be anybody's.
 */
#include "flow/conn.h"

#include "flow/refuse.h"

bool conn_is_nameless(const struct conn *c)
{
	return c->fixed && !c->verdict.allow && c->verdict.reason == POLICY_DENY_NAMELESS;
}

static enum named refused(struct conn *c, const char *why)
{
	refuse_as(c, GW_DENY, 403, why);
	return NAMED_REFUSED;
}

static enum named refused_by(struct conn *c, const struct verdict *v)
{
	refuse_verdict(c, v);
	return NAMED_REFUSED;
}

static enum named retarget(struct conn *c, const struct host *server, const struct verdict *v)
{
	c->host = *server;
	c->verdict = *v;
	conn_set_rule(c, policy_rule_of(c->gw->policy, v));
	return NAMED_ANEW;
}

enum named conn_named(struct conn *c, const struct host *server, bool late)
{
	static const char another[] = "the client names another server than the one allowed";
	bool by_name = c->host.kind == HOST_NAME;
	struct verdict v;

	if (host_equal(server, &c->host))
		return conn_is_nameless(c) ? refused_by(c, &c->verdict) : NAMED_SAME;
	if (server->kind != HOST_NAME)
		return refused(c, another);
	policy_name(c->gw->policy, server, c->port, &v);
	if (v.allow && v.inspect && !late)
		return retarget(c, server, &v);
	if (by_name || (v.allow && v.inspect))
		return refused(c, another);
	if (!v.allow) {
		c->host = *server;
		return refused_by(c, &v);
	}
	return conn_is_nameless(c) ? retarget(c, server, &v) : NAMED_SAME;
}
