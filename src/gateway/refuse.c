#include "gateway/refuse.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "gateway/event.h"
#include "gateway/exchange/exchange.h"
#include "gateway/parse/sniff.h"
#include "gateway/parse/socks5.h"

#define PHRASE_SIZE 512 /* of an answer to CONNECT */

struct refusal {
	enum gw_verdict verdict;
	unsigned int status;
	const char *reason, *remedy;
	bool final;	   /* trying again would not help, and the client is told so */
	const char *brief; /* the reason in fewer words; NULL: there are none */
};

/* A fatal alert in the clear, as an answer to a ClientHello: record, version 1.2, length, level. */
#define ALERT_HEAD "\x15\x03\x03\x00\x02\x02"
#define ALERT_ACCESS_DENIED "\x31"
#define ALERT_INTERNAL_ERROR "\x50"

static const struct {
	unsigned int status;
	const char *text;
} texts[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{402, "Payment Required"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{417, "Expectation Failed"},
	{426, "Upgrade Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

static const char *status_text(unsigned int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Error";
}

void conn_event(struct conn *c, enum gw_phase phase, enum gw_verdict verdict, const char *reason)
{
	struct gw_event e = {
		.verb = c->verb,
		.verdict = verdict,
		.phase = phase,
		.flow = c->flow,
		.port = c->port,
		.ms = (uint32_t)(ev_now(c->gw->ev) - c->since),
		.up = c->up_bytes,
		.down = c->down_bytes,
		.host = c->host.name,
		.rule = c->rule,
		.reason = reason,
	};

	exchange_describe(c, &e);
	event_send(c->gw, &e);
}

void refuse_event(struct conn *c, enum gw_verdict verdict, const char *reason)
{
	c->tunnel.active = false; /* this event is the tunnel's end */
	conn_event(c, GW_END, verdict, reason);
}

static void answer(struct conn *c, unsigned int status, const char *phrase, bool final,
		   const char *json)
{
	(void)buf_printf(&c->out,
			 "HTTP/1.1 %u %s\r\n"
			 "Content-Type: application/json\r\n"
			 "Content-Length: %zu\r\n"
			 "Cache-Control: no-store\r\n"
			 "%s"
			 "Connection: close\r\n\r\n%s\n",
			 status, phrase, strlen(json) + 1, final ? "x-should-retry: false\r\n" : "",
			 exchange_is_head(c) ? "" : json);
	conn_finish(c, "answered");
}

void answer_json(struct conn *c, unsigned int status, bool final, const char *json)
{
	answer(c, status, status_text(status), final, json);
}

/* In the form in which clients of this provider look for a message. */
static json_t *provider_refusal(const struct conn *c, unsigned int status, const char *reason)
{
	cleanup_free char *message = xasprintf("ralph: %s", reason);
	const char *provider = exchange_provider(c);

	if (streq(provider, "gemini"))
		return json_pack("{s:{s:i, s:s, s:s}}", "error", "code", (int)status, "message",
				 message, "status",
				 status == 402 || status == 429 ? "RESOURCE_EXHAUSTED"
								: "PERMISSION_DENIED");
	if (streq(provider, "bedrock"))
		return json_pack("{s:s}", "message", message);
	return json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type", "ralph_error",
			 "message", message);
}

static json_t *plain_refusal(struct conn *c, bool denied, const char *reason, const char *remedy)
{
	json_t *j =
		json_pack("{s:s, s:s, s:i, s:s, s:s}", "error",
			  denied ? "refused by ralph" : "failed in ralph's gateway", "host",
			  c->host.name, "port", (int)c->port, "rule", c->rule, "reason", reason);

	if (j && denied && c->gw->config->sandbox)
		(void)json_object_set_new(j, "sandbox", json_string(c->gw->config->sandbox));
	if (j && remedy[0])
		(void)json_object_set_new(j, "allow", json_string(remedy));
	return j;
}

/*
 * Many clients show nothing of the answer to their CONNECT but its reason phrase, so that one has to
 * explain. A phrase is one line of ASCII, and the reason may quote what the client sent.
 */
static const char *phrase_of(const struct conn *c, const struct refusal *no, char *ret, size_t size)
{
	bool denied = no->verdict == GW_DENY;
	cleanup_free char *text = NULL;

	if (c->speaks != SPEAKS_CONNECT)
		return status_text(no->status);
	text = xasprintf("%s: %s%s%s", denied ? "refused by ralph" : "failed in ralph's gateway",
			 no->brief ? no->brief : no->reason, no->remedy[0] ? "; " : "", no->remedy);
	return event_text(ret, size, text, strlen(text));
}

static void answer_refusal(struct conn *c, const struct refusal *no)
{
	bool denied = no->verdict == GW_DENY;
	json_t *j = exchange_is_provider(c) ? provider_refusal(c, no->status, no->reason)
					    : plain_refusal(c, denied, no->reason, no->remedy);
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL, phrase[PHRASE_SIZE];

	answer(c, no->status, phrase_of(c, no, phrase, sizeof(phrase)), denied || no->final,
	       text ? text : "{\"error\":\"refused by ralph\"}");
	free(text);
	json_decref(j);
}

/* The connection's own protocol, where nothing of ours was to stand between client and server. */
static enum conn_speaks speaks_now(const struct conn *c)
{
	bool hello = !c->client.tls && !c->tunnel.retried &&
		     sniff_protocol(c->in.data, c->in.len) == SNIFF_TLS;
	bool fresh = c->state == CONN_FIRST; /* transparent, and nothing was read */

	if (c->speaks != SPEAKS_RESET)
		return c->speaks;
	if (hello || (fresh && c->verb == GW_VERB_TLS))
		return SPEAKS_TLS;
	return fresh && c->verb == GW_VERB_HTTP ? SPEAKS_HTTP : SPEAKS_RESET;
}

static void answer_alert(struct conn *c, const struct refusal *no)
{
	(void)buf_append(&c->out, ALERT_HEAD, 6);
	(void)buf_append(&c->out,
			 no->verdict == GW_DENY ? ALERT_ACCESS_DENIED : ALERT_INTERNAL_ERROR, 1);
	conn_finish(c, no->reason);
}

static enum socks5_code socks_code(unsigned int status)
{
	return status == 403   ? SOCKS5_NOT_ALLOWED
	       : status == 504 ? SOCKS5_TTL_EXPIRED
	       : status == 502 ? SOCKS5_HOST_UNREACHABLE
			       : SOCKS5_FAILURE;
}

static void say_no(struct conn *c, const struct refusal *no)
{
	const char *reason = no->reason;
	uint8_t reply[SOCKS5_REPLY_MAX];

	exchange_status(c, no->status);
	refuse_event(c, no->verdict, reason);
	exchange_quiet(c);
	switch (speaks_now(c)) {
	case SPEAKS_TLS:
		answer_alert(c, no);
		return;
	case SPEAKS_SOCKS:
		(void)buf_append(&c->out, reply, socks5_put_reply(reply, socks_code(no->status)));
		conn_finish(c, reason);
		return;
	case SPEAKS_CONNECT:
	case SPEAKS_HTTP:
		if (!exchange_answered(c)) {
			answer_refusal(c, no);
			return;
		}
		break;
	case SPEAKS_RESET:
		break;
	}
	conn_reset(c, reason);
}

void refuse_verdict(struct conn *c, const struct verdict *v)
{
	const struct policy_rule *rule = policy_rule_of(c->gw->policy, v);
	char reason[512], remedy[320], brief[HOST_PORT_TEXT_SIZE + 32];
	bool web = c->port == 80 || c->port == 443;
	char target[HOST_PORT_TEXT_SIZE];

	host_format(&c->host, c->port, target);
	(void)snprintf(brief, sizeof(brief), "%s is not allowed", web ? c->host.name : target);
	conn_set_rule(c, rule);
	verdict_explain(c->gw->policy, v, &c->host, c->port, reason, sizeof(reason));
	verdict_remedy(c->gw->policy, v, &c->host, c->port, remedy, sizeof(remedy));
	say_no(c, &(struct refusal){GW_DENY, 403, reason, remedy, true,
				    v->reason == POLICY_DENY_NO_RULE ? brief : NULL});
}

void refuse_as(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason)
{
	say_no(c, &(struct refusal){verdict, status, reason, "", false, NULL});
}

void refuse_final(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason)
{
	say_no(c, &(struct refusal){verdict, status, reason, "", true, NULL});
}

void refuse_bytes(struct conn *c, unsigned int status, const char *reason)
{
	if (conn_is_nameless(c))
		refuse_verdict(c, &c->verdict);
	else
		refuse_as(c, GW_DENY, status, reason);
}

void refuse_host(struct conn *c, struct slice text, const struct err *err)
{
	/* For the log and the answer only: without a target nothing is ever dialled. */
	c->host = (struct host){0};
	(void)event_text(c->host.name, sizeof(c->host.name), text.p, text.n);
	refuse_as(c, GW_DENY, 403, err->msg);
}

void refuse_late(struct conn *c)
{
	static const struct {
		unsigned int status;
		const char *reason;
	} late[CONN_N] = {
		[CONN_HEAD] = {408, "the request's head did not arrive in time"},
		[CONN_HELLO] = {408, "nothing arrived in time"},
		[CONN_LEAF] = {504, "no certificate was issued in time"},
		[CONN_ACCEPT] = {408, "the TLS handshake took too long"},
		[CONN_CREDENTIAL] = {504, "no credential was given in time"},
		[CONN_BUDGET] = {429, "the rest of the budget is reserved by requests under way"},
		[CONN_BODY] = {408, "the request's body did not arrive in time"},
		[CONN_LOOKUP] = {504, "the name was not resolved in time"},
		[CONN_DIAL] = {504, "no address answered in time"},
		[CONN_VIA] = {504, "the host's proxy did not answer in time"},
		[CONN_SECURE] = {504, "the server's TLS handshake took too long"},
		[CONN_EXCHANGE] = {504, "the server did not answer in time"},
	};

	if (conn_is_nameless(c))
		refuse_verdict(c, &c->verdict);
	else
		refuse_as(c, GW_ERROR, late[c->state].status, late[c->state].reason);
}
