#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "wire/edge-proto.h"

/* Rules that were read decide without reading behind their ends. */
static void rules(const struct policy *p)
{
	struct verdict v;
	struct host h;
	struct err err;

	if (p->n_rules > NET_RULES_MAX || host_parse("a.test", 6, &h, &err) < 0)
		abort();
	for (size_t i = 0; i < p->n_rules; i++)
		if (strlen(p->rules[i].pattern.name) != p->rules[i].pattern.len)
			abort();
	policy_name(p, &h, 443, &v);
	if (v.rule >= (int)p->n_rules)
		abort();
}

/* What a gateway says to its supervisor, and the reverse: the first byte picks the frame. */
static void config(const struct wire_msg *m)
{
	struct gw_config *c = NULL;

	if (gw_get_config(m, &c) == 0)
		rules(c->rules);
	(void)gw_config_free(c);
}

static void event(const struct wire_msg *m)
{
	struct gw_event e;

	if (gw_get_event(m, &e) < 0)
		return;
	for (const char *p = e.reason; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			abort();
}

/* The same for cred, which judges by these rules too. */
static void policy(const struct wire_msg *m)
{
	struct net_policy p, again;
	struct policy *compiled = NULL;
	struct wire_msg copy;

	if (gw_get_rules(m, &compiled) == 0)
		rules(compiled);
	(void)policy_free(compiled);
	if (gw_get_policy(m, &p) < 0)
		return;
	wire_msg_init(&copy);
	gw_put_policy(&copy.body, &p);
	if (gw_get_policy(&copy, &again) < 0 || again.tier != p.tier || again.n_rules != p.n_rules)
		abort();
	wire_msg_done(&copy);
	net_policy_clear(&again);
	net_policy_clear(&p);
}

static void listeners(const struct wire_msg *m)
{
	struct gw_listener *l = NULL;
	size_t n = 0;

	if (gw_get_listeners(m, &l, &n) < 0)
		return;
	if (n > GW_LISTENERS_MAX)
		abort();
	free(l);
}

static void spend(const struct wire_msg *m)
{
	struct gw_spend s;
	struct gw_ask a;

	if (gw_get_ask(m, &a) == 0) {
		if (a.choices.n > GW_ASK_CHOICES_MAX || a.wait_s > GW_ASK_WAIT_MAX_S ||
		    strlen(a.why) > GW_ASK_TEXT_MAX)
			abort();
		strv_done(&a.choices);
	}
	if (gw_get_spend(m, &s) == 0 && (s.input > GW_TOKENS_MAX || s.output > GW_TOKENS_MAX))
		abort();
}

static void header(const struct wire_msg *m)
{
	struct gw_header h;

	if (gw_get_header(m, &h) == 0)
		gw_header_done(&h);
}

/* A connection's frame comes with one descriptor; the number is never used. */
static void edge_frames(struct wire_msg *m)
{
	struct edge_dialled_frame is;
	struct edge_dial_frame ask;
	struct edge_conn_frame f;

	if (edge_get_dial(m, &ask) == 0 && strlen(ask.host) > GW_NAME_MAX)
		abort();
	(void)edge_get_dialled(m, &is);
	m->n_fds = 1;
	m->fds[0] = -1;
	if (edge_get_conn(m, &f) == 0 &&
	    (f.n_bytes > EDGE_BYTES_MAX || f.bytes + f.n_bytes > m->body.data + m->body.len))
		abort();
	(void)edge_get_dialled(m, &is);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw_header_ask ask;
	struct gw_health health;
	struct gw_usage usage;
	struct cred_use use;
	struct wire_msg m;

	if (size < 1)
		return 0;
	wire_msg_init(&m);
	(void)buf_append(&m.body, data + 1, size - 1);
	switch (data[0] % 10) {
	case 0:
		config(&m);
		break;
	case 1:
		event(&m);
		break;
	case 2:
		header(&m);
		break;
	case 3:
		(void)gw_get_header_ask(&m, &ask);
		break;
	case 4:
		(void)gw_get_usage(&m, &usage);
		(void)gw_get_use(&m, &use);
		break;
	case 5:
		(void)gw_get_health(&m, &health);
		break;
	case 6:
		edge_frames(&m);
		break;
	case 7:
		policy(&m);
		break;
	case 8:
		listeners(&m);
		break;
	default:
		spend(&m);
		break;
	}
	wire_msg_done(&m);
	return 0;
}
