#include "gateway/exchange/provider-request.h"

#include <stdio.h>
#include <string.h>

#include "gateway/exchange/inject.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/route.h"
#include "flow/event.h"
#include "flow/refuse.h"
#include "gateway/question.h"

#define OVERHEAD_TOKENS 4096   /* that a provider adds to a request, for tools above all */
#define PICTURE_TOKENS 8192    /* at most, whatever its size */
#define CONTEXT_TOKENS 1000000 /* for input that is not in the request */

static const char no_price[] =
	"the request asks for a service tier whose price ralph does not know, "
	"and this sandbox has a budget";

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

static const struct strv *allowed_tools(const struct conn *c)
{
	const struct strv *tools = &c->gw->config->tools;

	return strv_has(tools, GW_TOOLS_ALL) ? NULL : tools;
}

static enum outline_form form_of(enum request_kind kind)
{
	switch (kind) {
	case REQUEST_MESSAGES:
		return OUTLINE_MESSAGES;
	case REQUEST_CHAT:
		return OUTLINE_CHAT;
	case REQUEST_RESPONSES:
		return OUTLINE_RESPONSES;
	case REQUEST_GEMINI:
		return OUTLINE_GEMINI;
	case REQUEST_CONVERSE:
		return OUTLINE_CONVERSE;
	case REQUEST_UNKNOWN:
	case REQUEST_FREE:
	case REQUEST_KIND_N:
		break;
	}
	return OUTLINE_ANY;
}

/* The tool that a path stands for, where its requests are not known; NULL: none. */
static const char *tool_of_path(const struct conn *c)
{
	const char *target = c->x->target ? c->x->target : "";
	cleanup_free char *path = xstrndup(target, strcspn(target, "?"));

	if (strcasestr(path, "batch"))
		return "batches";
	return strcasestr(path, "/files") || strcasestr(path, "/upload") ? "files" : NULL;
}

/* Google reads parameters such as "$httpHeaders", "$req" and "$ct" in place of fields and body. */
static bool query_is_plain(const char *target)
{
	const char *p = target ? strchr(target, '?') : NULL;

	for (; p; p = strchr(p + 1, '&'))
		if (p[1] == '$' || p[1] == '%')
			return false;
	return true;
}

/* Would everybody read the body as the JSON that we read? */
static bool is_plain(const struct conn *c, const struct http1_head *h)
{
	struct slice type = {0};

	if (!query_is_plain(c->x->target))
		return false;

	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (f->id == HTTP1_F_CONTENT_ENCODING && !slice_is(f->value, "identity"))
			return false;
		if (f->id == HTTP1_F_CONTENT_TYPE && type.p)
			return false;
		if (f->id == HTTP1_F_CONTENT_TYPE)
			type = f->value;
	}
	return outline_type_is_plain(type);
}

static char *read_body(struct conn *c, const struct http1_head *h)
{
	struct response_guard *g = c->x->guard;
	const char *tool = c->x->kind == REQUEST_UNKNOWN ? tool_of_path(c) : NULL;

	g->outline = xmalloc(sizeof(*g->outline));
	outline_init(g->outline, form_of(c->x->kind), allowed_tools(c));
	if (tool && !outline_use(g->outline, tool))
		return outline_why(g->outline);
	if (c->x->request.done)
		return NULL;
	if (!is_plain(c, h)) {
		g->outline->bad = true;
		return outline_why(g->outline);
	}
	c->x->request.reader = g->outline;
	return NULL;
}

/* Bedrock is told of other tiers in fields. */
static bool has_tier(const struct http1_head *h)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		struct slice name = h->fields[i].name;

		if (name.n > 14 &&
		    slice_ieq((struct slice){name.p, 14}, slice_of("x-amzn-bedrock")))
			return true;
	}
	return false;
}

char *provider_prepare(struct conn *c, const struct http1_head *h)
{
	struct response_guard *g = c->x->guard;
	bool budget = c->gw->config->budget;

	g->provider = provider_of(c);
	if (!g->provider || !g->provider->provider[0]) {
		g->provider = NULL;
		return NULL;
	}
	c->x->provider = true;
	if (!exchange_route(c))
		c->x->kind = route_kind(c, g->provider);
	if (budget && c->x->kind == REQUEST_UNKNOWN)
		return xstrdup("ralph cannot tell what this request costs, and this sandbox has a "
			       "budget (budget.usd, budget.tokens); such requests pass only "
			       "without one");
	g->metered = budget && request_has_tokens(c->x->kind);
	if (g->metered && has_tier(h))
		return xstrdup(no_price);
	return g->metered || allowed_tools(c) ? read_body(c, h) : NULL;
}

void inject_unread(struct conn *c)
{
	cleanup_free char *why = outline_why(c->x->guard->outline);

	refuse_final(c, GW_DENY, 403, why);
}

/* The most that c's request can use. */
static struct gw_spend estimate(const struct conn *c, char *model, size_t size)
{
	const struct response_guard *g = c->x->guard;
	const struct outline *o = g->outline;
	struct gw_spend s = {
		.credential = c->x->credential,
		.model = model,
		.input = g->body.len + OVERHEAD_TOKENS + o->pictures * PICTURE_TOKENS,
		.output = o->limited ? o->output + 1 : 0,
		.answers = o->answers,
	};

	if (o->unseen && s.input < CONTEXT_TOKENS)
		s.input = CONTEXT_TOKENS;
	response_guard_model(c->x->target, model, size);
	if (!model[0])
		(void)snprintf(model, size, "%s", o->model);
	return s;
}

static void on_spend(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct wire_reader r;
	const char *why;
	uint32_t eno;

	wire_read(&r, m);
	eno = wire_get_u32(&r);
	why = wire_get_str(&r);
	if (wire_read_end(&r) < 0)
		refuse_final(c, GW_ERROR, 503, "the budget cannot be asked for");
	else if (eno == EAGAIN)
		refuse_as(c, GW_ERROR, 429, why);
	else if (eno)
		refuse_final(c, GW_DENY, 402, why);
	else
		inject_granted(c, m->id);
}

/* Nobody waits for it any more. */
void provider_release(struct gw *gw, const struct wire_msg *m)
{
	struct gw_usage u = {.credential = "",
			     .model = "",
			     .reservation = m->id,
			     .cost = GW_COST_NONE,
			     .limits = ""};
	struct wire_reader r;
	struct buf b;

	wire_read(&r, m);
	if (wire_get_u32(&r))
		return;
	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_usage(&b, &u);
	event_usage(gw, &b);
}

void provider_spend(struct conn *c)
{
	const struct outline *o = c->x->guard->outline;
	char model[OUTLINE_MODEL_MAX + 1];
	struct gw_spend s = estimate(c, model, sizeof(model));
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (o->two_models || o->premium) {
		refuse_final(c, GW_DENY, 403,
			     o->premium ? no_price : "the request names two models");
		return;
	}
	gw_put_spend(&b, &s);
	conn_go(c, CONN_BUDGET, "asking");
	if (ask_line(c->gw, c->gw->sock, &c->ask, GW_SPEND, &b, on_spend) < 0)
		refuse_final(c, GW_ERROR, 503, "the budget cannot be asked for");
}
