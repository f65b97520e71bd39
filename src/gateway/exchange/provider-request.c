#include "gateway/exchange/provider-request.h"

#include "flow/refuse.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/route.h"
#include "gateway/question.h"
#include "wire/reader-proto.h"

static const char no_reader[] = "the request cannot be read before it is sent";

static const struct gw_route *provider_of(const struct conn *c)
{
	const struct gw_config *config = c->gw->config;
	const struct gw_route *own = exchange_route(c);

	for (size_t i = 0; !own && i < config->n_routes; i++) {
		const struct gw_route *r = &config->routes[i];

		if (r->provider[0] && r->credential && streq(r->credential, c->x->credential))
			return r;
	}
	return own;
}

const char *provider_prepare(struct conn *c)
{
	const struct gw_config *config = c->gw->config;
	struct response_guard *g = c->x->guard;

	g->provider = provider_of(c);
	if (!g->provider || !g->provider->provider[0]) {
		g->provider = NULL;
		return NULL;
	}
	c->x->provider = true;
	if (!exchange_route(c))
		c->x->kind = route_kind(c, g->provider);
	if (config->budget && c->x->kind == REQUEST_UNKNOWN)
		return "ralph cannot tell what this request costs, and this sandbox has a budget "
		       "(budget.usd, budget.tokens); such requests pass only without one";
	g->to_read = (config->budget && request_has_tokens(c->x->kind)) ||
		     (!strv_has(&config->tools, GW_TOOLS_ALL) &&
		      (!c->x->request.done || c->x->kind == REQUEST_UNKNOWN));
	return NULL;
}

static struct reader_body body_of(const struct spool *s)
{
	return (struct reader_body){.p = s->small.data, .n = s->len, .fd = s->fd};
}

static void on_verdict(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct reader_verdict v;

	if (!m || reader_get_verdict(m, &v) < 0) {
		refuse_final(c, GW_ERROR, 503, no_reader);
		return;
	}
	c->x->guard->reservation = v.reserved ? m->id : 0;
	c->x->guard->turn = c->gw->reader_turn;
	if (v.status == 0)
		inject_granted(c);
	else if (v.status == 429)
		refuse_as(c, GW_ERROR, 429, v.why);
	else
		refuse_final(c, v.status >= 500 ? GW_ERROR : GW_DENY, v.status, v.why);
}

void provider_ask(struct conn *c)
{
	const struct response_guard *g = c->x->guard;
	const struct reader_request q = {
		.credential = c->x->credential,
		.target = c->x->target ? c->x->target : "/",
		.kind = c->x->kind,
		.head = g->head.data,
		.n_head = g->head.len,
		.body = body_of(&g->body),
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_request(&b, &q);
	conn_go(c, CONN_BUDGET, "being read");
	if (ask_reader(c->gw, &c->ask, READER_REQUEST, &b, q.body.fd, on_verdict) < 0)
		refuse_final(c, GW_ERROR, 503, no_reader);
}

static void put_answer(struct gw *gw, const struct reader_answer *a)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_answer(&b, a);
	(void)ask_reader(gw, NULL, READER_ANSWER, &b, a->body.fd, NULL);
}

void provider_release(struct gw *gw, const struct wire_msg *m)
{
	const struct reader_answer none = {.credential = "",
					   .target = "",
					   .reservation = m->id,
					   .cost = GW_COST_NONE,
					   .body = {.fd = -1}};
	struct reader_verdict v;

	if (reader_get_verdict(m, &v) == 0 && v.reserved)
		put_answer(gw, &none);
}

void provider_status(struct conn *c)
{
	bool down = gw_is_down(c->x->status);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (!c->x->guard || !c->x->guard->provider || down == c->gw->provider_down)
		return;
	wire_put_u32(&b, c->x->status);
	/* If it has no room now, the next answer is reported. */
	if (ask_line(c->gw, c->gw->sock, NULL, GW_PROVIDER, &b, NULL) == 0)
		c->gw->provider_down = down;
}

/* The request's cost in the end. An answer that may be cut short says too little. */
static enum gw_cost cost_of(const struct exchange *x)
{
	if (!x->guard->reservation)
		return GW_COST_USED;
	if (x->head_done ? x->status >= 400 : !exchange_is_sent(x))
		return GW_COST_NONE;
	return x->response.done && x->response.kind != HTTP1_BODY_CLOSE && !x->guard->unread
		       ? GW_COST_USED
		       : GW_COST_RESERVED;
}

void provider_report(struct conn *c)
{
	const struct response_guard *g = c->x->guard;
	const struct reader_answer a = {
		.credential = c->x->credential,
		.target = c->x->target ? c->x->target : "",
		.reservation = g->reservation,
		.status = c->x->status,
		.cost = cost_of(c->x),
		.head = g->answer_head.data,
		.n_head = g->answer_head.len,
		.body = body_of(&g->answer),
	};

	if (!g->provider || (!g->reservation && a.n_head == 0))
		return;
	/* The reader that had the reservation has ended, and with it the reservation. */
	if (!g->reservation || g->turn == c->gw->reader_turn)
		put_answer(c->gw, &a);
}
