#include "flow/refuse.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "flow/event.h"
#include "flow/sniff.h"

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
	{409, "Conflict"},
	{411, "Length Required"},
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

void refuse_init(void)
{
	json_object_seed(0);
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

	c->is_open = phase == GW_OPEN;
	c->gw->program->describe(c, &e);
	event_send(c->gw, &e);
}

void refuse_event(struct conn *c, enum gw_verdict verdict, const char *reason)
{
	conn_event(c, GW_END, verdict, reason);
}

void refuse_answer(struct conn *c, unsigned int status, const char *phrase, bool final,
		   const char *json, bool with_body)
{
	(void)buf_printf(&c->out,
			 "HTTP/1.1 %u %s\r\n"
			 "Content-Type: application/json\r\n"
			 "Content-Length: %zu\r\n"
			 "Cache-Control: no-store\r\n"
			 "%s"
			 "Connection: close\r\n\r\n%s\n",
			 status, phrase ? phrase : status_text(status), strlen(json) + 1,
			 final ? "x-should-retry: false\r\n" : "", with_body ? json : "");
	conn_finish(c, "answered");
}

/* What the agent can do about it: a person decides. */
static json_t *ask_hint(const struct conn *c)
{
	char target[HOST_PORT_TEXT_SIZE];

	host_format(&c->host, c->port, target);
	return json_sprintf("/run/ralph/ralph-ask host %s 'why you need it'", target);
}

char *refuse_json(const struct conn *c, const struct refusal *no)
{
	bool denied = no->verdict == GW_DENY;
	json_t *j = json_pack("{s:s, s:s, s:i, s:s, s:s}", "error",
			      denied ? "refused by ralph" : "failed in ralph's gateway", "host",
			      c->host.name, "port", (int)c->port, "rule", c->rule, "reason",
			      no->reason);
	char *text;

	if (j && denied && c->gw->config->sandbox)
		(void)json_object_set_new(j, "sandbox", json_string(c->gw->config->sandbox));
	if (j && no->remedy[0])
		(void)json_object_set_new(j, "allow", json_string(no->remedy));
	if (j && denied && no->brief && c->host.kind == HOST_NAME)
		(void)json_object_set_new(j, "ask", ask_hint(c));
	text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	return text ? text : xstrdup("{\"error\":\"refused by ralph\"}");
}

bool refuse_has_hello(const struct conn *c)
{
	return !c->client.tls && sniff_protocol(c->in.data, c->in.len) == SNIFF_TLS;
}

void refuse_by_alert(struct conn *c, const struct refusal *no)
{
	(void)buf_append(&c->out, ALERT_HEAD, 6);
	(void)buf_append(&c->out,
			 no->verdict == GW_DENY ? ALERT_ACCESS_DENIED : ALERT_INTERNAL_ERROR, 1);
	conn_finish(c, no->reason);
}

void refuse_told(struct conn *c, const struct refusal *no)
{
	c->gw->program->refuse(c, no);
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
	refuse_told(c, &(struct refusal){GW_DENY, 403, reason, remedy, true,
					 v->reason == POLICY_DENY_NO_RULE ? brief : NULL});
}

void refuse_as(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason)
{
	refuse_told(c, &(struct refusal){verdict, status, reason, "", false, NULL});
}

void refuse_final(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason)
{
	refuse_told(c, &(struct refusal){verdict, status, reason, "", true, NULL});
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
	const struct conn_row *row = &c->gw->program->rows[c->state];

	if (conn_is_nameless(c))
		refuse_verdict(c, &c->verdict);
	else
		refuse_as(c, GW_ERROR, row->status, row->reason);
}
