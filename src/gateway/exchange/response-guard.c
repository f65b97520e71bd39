#include "gateway/exchange/response-guard.h"

#include <string.h>

#include "gateway/parse/h2-head.h"
#include "http/chunked.h"
#include "flow/event.h"
#include "gateway/exchange/exchange.h"
#include "flow/gw.h"

struct response_guard *response_guard_new(struct gw *gw, const struct gw_route *route)
{
	struct response_guard *g = xmalloc(sizeof(*g)); /* as exchange_new() */

	*g = (struct response_guard){.gw = gw, .route = route};
	buf_init(&g->head, HTTP1_HEAD_MAX);
	buf_init(&g->limits, GW_LIMITS_MAX);
	spool_init(&g->body, BODY_SIGNED_MAX, &gw->spooled);
	scrub_init(&g->scrub, gw->secrets);
	return g;
}

static void drop_meter(struct response_guard *g)
{
	if (g->meter)
		meter_done(g->meter);
	free(g->meter);
	g->meter = NULL;
}

void response_guard_free(struct response_guard *g)
{
	if (!g)
		return;
	buf_done(&g->head);
	free(g->content_type);
	buf_done(&g->limits);
	spool_done(&g->body);
	scrub_done(&g->scrub);
	drop_meter(g);
	free(g->outline);
	free(g);
}

/* Another request may have been given another secret since, and this answer may show it. */
static void renew(struct response_guard *g)
{
	if (g->scrub.needles != g->gw->secrets)
		scrub_renew(&g->scrub, g->gw->secrets);
}

static bool begins(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && slice_ieq((struct slice){s.p, n}, slice_of(with));
}

static bool is_limit(struct slice name)
{
	return slice_is(name, "retry-after") || begins(name, "anthropic-ratelimit-") ||
	       begins(name, "x-ratelimit-") || begins(name, "x-codex-");
}

/* Notes one rate-limit field as a line; a field that no longer fits is left out. */
static void note_limit(struct response_guard *g, const struct http1_field *f)
{
	char name[HTTP1_NAME_MAX + 5], value[256];
	size_t before = g->limits.len;

	(void)event_text(name, sizeof(name), f->name.p, f->name.n);
	(void)event_text(value, sizeof(value), f->value.p, f->value.n);
	if (buf_printf(&g->limits, "%s: %s\n", name, value) < 0)
		g->limits.len = before;
}

/* NULL, or why the answer cannot be searched. */
static const char *objection(const struct http1_head *h)
{
	/* No part was asked for, see phantom_strip(): it could end within a secret. */
	if (h->status == 206)
		return "the server has sent a part of its answer, which cannot be searched";
	if (h->body == HTTP1_BODY_NONE)
		return NULL;
	for (size_t i = 0; i < h->n_fields; i++)
		if ((h->fields[i].id == HTTP1_F_CONTENT_ENCODING ||
		     slice_is(h->fields[i].name, "grpc-encoding")) &&
		    !slice_is(h->fields[i].value, "identity"))
			return "the server has compressed its answer, although it was asked not "
			       "to: "
			       "the lengths would tell how much of it is like a secret";
	return NULL;
}

static void look_at_provider(struct response_guard *g, const struct http1_head *h)
{
	enum meter_form form = METER_NONE;

	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (f->id == HTTP1_F_CONTENT_TYPE && h->status / 100 == 2)
			form = meter_form(f->value);
		else if (f->id == HTTP1_F_OTHER && is_limit(f->name))
			note_limit(g, f);
	}
	drop_meter(g);
	if (form == METER_NONE)
		return;
	g->meter = xmalloc(sizeof(*g->meter));
	meter_init(g->meter, form);
}

const char *response_guard_head(struct response_guard *g, char *p, size_t n, struct http1_head *h)
{
	response_guard_text(g, p, n);
	/* A session the server would begin for us is a credential of its own. */
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= g->carries && h->fields[i].id == HTTP1_F_SET_COOKIE;
	if (h->status < 200)
		return NULL;
	for (size_t i = 0; i < h->n_fields; i++)
		g->grpc |=
			h->fields[i].id == HTTP1_F_CONTENT_TYPE && h2_is_grpc(h->fields[i].value);
	if (g->provider)
		look_at_provider(g, h);
	return objection(h);
}

void response_guard_text(struct response_guard *g, char *p, size_t n)
{
	renew(g);
	scrub_text(&g->scrub, p, n);
}

/* Has a message of gRPC ended with the last byte of p? Each has a head of five bytes: a flag, and its
 * length. */
static bool grpc_between(struct response_guard *g, const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		if (g->grpc_head < 5) {
			if (g->grpc_head++ > 0)
				g->grpc_left = g->grpc_left << 8 | (unsigned char)p[i];
			i++;
		} else {
			size_t take = g->grpc_left < n - i ? g->grpc_left : n - i;

			g->grpc_left -= (uint32_t)take;
			i += take;
		}
		if (g->grpc_head == 5 && g->grpc_left == 0)
			g->grpc_head = 0;
	}
	return g->grpc_head == 0;
}

/* A stretch ends with a frame of AWS or a message of gRPC, whose last byte may be any. */
static void filter(struct response_guard *g, char *p, size_t n, bool last, struct slice *ret_before,
		   struct slice *ret_after)
{
	if (g->meter)
		meter_feed(g->meter, p, n);
	renew(g);
	last |= g->meter && meter_between(g->meter);
	last |= g->grpc && grpc_between(g, p, n);
	scrub_run(&g->scrub, p, n, last, ret_before, ret_after);
}

int response_guard_put(struct response_guard *g, char *p, size_t n, bool last, bool chunk,
		       struct buf *out)
{
	char head[CHUNKED_HEAD_MAX];
	struct slice before, after;

	filter(g, p, n, last, &before, &after);
	if (before.n + after.n == 0)
		return 0;
	if (buf_room(out) < before.n + after.n + CHUNKED_HEAD_MAX + 2)
		return -ENOBUFS;
	if (chunk)
		(void)buf_append(out, head, chunked_put_head(head, (uint32_t)(before.n + after.n)));
	if (before.n)
		(void)buf_append(out, before.p, before.n);
	if (after.n)
		(void)buf_append(out, after.p, after.n);
	return chunk ? buf_puts(out, CHUNKED_CRLF) : 0;
}

struct slice response_guard_pass(struct response_guard *g, char *p, size_t n, bool last,
				 struct buf *out)
{
	struct slice before, after;

	filter(g, p, n, last, &before, &after);
	if (before.n)
		(void)buf_append(out, before.p, before.n);
	return after;
}

ssize_t response_guard_replay(struct response_guard *g, struct buf *out)
{
	char part[16 * 1024];
	ssize_t n = spool_get(&g->body, g->sent, part, sizeof(part));

	if (n <= 0)
		return n;
	g->sent += (size_t)n;
	return buf_append(out, part, (size_t)n) < 0 ? -ENOBUFS : n;
}

/* The request's cost in the end. An answer that may be cut short says too little. */
static enum gw_cost cost_of(const struct exchange *x)
{
	const struct response_guard *g = x->guard;

	if (!g->reservation)
		return GW_COST_USED;
	if (x->head_done ? x->status >= 400 : !exchange_is_sent(x))
		return GW_COST_NONE;
	return x->response.done && x->response.kind != HTTP1_BODY_CLOSE && g->meter &&
			       g->meter->seen
		       ? GW_COST_USED
		       : GW_COST_RESERVED;
}

/*
 * Takes the model's name from the path, if the answer has none: /model/NAME/…, /models/NAME:method.
 */
void response_guard_model(const char *path, char *ret, size_t size)
{
	const char *p = strstr(path, "/models/"), *end;

	p = p ? p + 8 : NULL;
	if (!p) {
		p = strstr(path, "/model/");
		p = p ? p + 7 : NULL;
	}
	end = p ? p + strcspn(p, "/?:") : NULL;
	(void)event_text(ret, size, p ? p : "", p ? (size_t)(end - p) : 0);
}

void response_guard_status(struct conn *c)
{
	const struct gw_usage u = {
		.credential = c->x->credential,
		.model = "",
		.cost = GW_COST_NONE,
		.status = c->x->status,
		.limits = "",
	};
	bool down = gw_is_down(u.status);
	struct buf b;

	if (!c->x->guard || !c->x->guard->provider || down == c->gw->provider_down)
		return;
	c->gw->provider_down = down;
	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_usage(&b, &u);
	event_usage(c->gw, &b);
}

void response_guard_report(struct conn *c)
{
	struct response_guard *g = c->x->guard;
	struct meter_sum sum = g->meter ? meter_sum(g->meter) : (struct meter_sum){0};
	char model[METER_MODEL_MAX + 1];
	struct gw_usage u = {
		.credential = c->x->credential,
		.model = g->meter ? g->meter->model : "",
		.reservation = g->reservation,
		.cost = cost_of(c->x),
		.status = c->x->status,
		.input = sum.input,
		.output = sum.output,
		.cache_read = sum.cache_read,
		.cache_write = sum.cache_write,
		.limits = buf_str(&g->limits),
	};
	struct buf b;

	if (!g->provider ||
	    (!g->reservation && g->limits.len == 0 && (!g->meter || !g->meter->seen)))
		return;
	/* The server chose this text, and it goes into the log. */
	if (g->meter)
		response_guard_text(g, g->meter->model, strlen(g->meter->model));
	if (!u.model[0]) {
		response_guard_model(c->x->target ? c->x->target : "", model, sizeof(model));
		u.model = model;
	}
	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_usage(&b, &u);
	event_usage(c->gw, &b);
}
