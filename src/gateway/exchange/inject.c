#include "gateway/exchange/inject.h"

#include <string.h>

#include "gateway/exchange/given.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/http-judge.h"
#include "gateway/exchange/provider-request.h"
#include "gateway/exchange/route.h"
#include "flow/refuse.h"
#include "gateway/question.h"

static const char too_long[] = "the request is too long to be read before it is sent";

/* The header that was given last for a credential, by one rule or route, at one host and port. */
struct injected {
	const char *credential;
	const struct gw_route *route; /* NULL: by a rule, the one with this index */
	int rule;
	struct host host;
	uint16_t port;
	struct gw_header header;
	uint64_t until; /* ms: it may be used again */
	struct strv secrets;
	uint32_t turn; /* how often they have changed */
	uint64_t used;
};

const char *inject_name(struct gw *gw, const char *credential)
{
	for (size_t i = 0; i < gw->credentials.n; i++)
		if (streq(gw->credentials.v[i], credential))
			return gw->credentials.v[i];
	strv_push(&gw->credentials, credential);
	return gw->credentials.v[gw->credentials.n - 1];
}

static void forget(struct injected *i)
{
	gw_header_done(&i->header);
	strv_done(&i->secrets);
	*i = (struct injected){0};
}

void inject_forget(struct gw *gw)
{
	for (size_t i = 0; gw->injected && i < HEADERS_KEPT; i++)
		forget(&gw->injected[i]);
	free(gw->injected);
	gw->injected = NULL;
}

/* The one of c's credential and target, or NULL. */
static struct injected *find(const struct conn *c)
{
	struct gw *gw = c->gw;

	for (size_t i = 0; gw->injected && i < HEADERS_KEPT; i++) {
		struct injected *in = &gw->injected[i];

		if (in->credential == c->x->credential && in->route == exchange_route(c) &&
		    (in->route || in->rule == c->x->rule) && in->port == c->port &&
		    host_equal(&in->host, &c->host))
			return in;
	}
	return NULL;
}

static struct injected *slot_for(const struct conn *c)
{
	struct injected *slot = find(c);
	struct gw *gw = c->gw;

	if (slot)
		return slot;
	if (!gw->injected)
		gw->injected = xcalloc(HEADERS_KEPT, sizeof(*gw->injected));
	slot = &gw->injected[0];
	for (size_t i = 1; i < HEADERS_KEPT; i++)
		if (gw->injected[i].used < slot->used)
			slot = &gw->injected[i];
	forget(slot);
	slot->credential = c->x->credential;
	slot->route = exchange_route(c);
	slot->rule = c->x->rule;
	slot->host = c->host;
	slot->port = c->port;
	return slot;
}

/* Takes the header's content. A signature changes with each request, the secrets seldom do. */
static struct injected *remember(const struct conn *c, struct gw_header *h)
{
	uint32_t ms = h->keep_ms < HEADER_KEEP_MS ? h->keep_ms : HEADER_KEEP_MS;
	struct injected *slot = slot_for(c);
	uint64_t now = ev_now(c->gw->ev);

	if (!strv_same(&slot->secrets, &h->secrets)) {
		strv_done(&slot->secrets);
		slot->secrets = h->secrets;
		h->secrets = (struct strv){0};
		slot->turn++;
		given_add(c->gw, slot->credential, &slot->secrets);
	}
	gw_header_done(&slot->header);
	slot->header = *h;
	slot->until = now + ms;
	slot->used = now;
	*h = (struct gw_header){0};
	return slot;
}

/*
 * Keeps the bytes of c's head, and returns how many of them are still in c->in. A head that came
 * without more changes hands, so that what was read of it points where it did.
 */
static size_t keep_head(struct conn *c, size_t head_len)
{
	struct buf *kept = &c->x->guard->head;

	if (c->in.len > head_len) {
		(void)buf_append(kept, c->in.data, head_len);
		return head_len;
	}
	*kept = c->in;
	buf_init(&c->in, IN_MAX);
	c->gw->head.of = c->flow;
	return 0;
}

/* The request's head, which is read again if another one was read while c waited for an answer. */
static struct http1_head *head_of(struct conn *c)
{
	const struct buf *b = &c->x->guard->head;

	if (c->gw->head.of && c->gw->head.of == c->flow)
		return &c->gw->head;
	http1_reset(&c->gw->head);
	return http1_parse_request(b->data, b->len, &c->gw->head) > 0 ? &c->gw->head : NULL;
}

static void send_with(struct conn *c, struct injected *in, struct http1_head *h, size_t head_len)
{
	c->x->guard->given = in->turn;
	if (h)
		http_send(c, h, head_len, &in->header);
	else
		refuse_as(c, GW_ERROR, 400, "the request cannot be passed on");
}

static void on_header(struct ask *a, struct wire_msg *m);

static int put_ask(struct conn *c, bool wait)
{
	struct response_guard *g = c->x->guard;
	char digest[SPOOL_HEX] = "";
	struct gw_header_ask ask = {
		.credential = c->x->credential,
		.host = c->host.name,
		.port = c->port,
		.method = c->x->method,
		.target = c->x->target ? c->x->target : "/",
		.content_type = g->content_type ? g->content_type : "",
		.body_sha256 = digest,
		.rejected = g->rejected && !g->newer,
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	(void)buf_reserve(&b, HEAD_USUAL);
	if (g->digested && spool_sha256(&g->body, digest) < 0)
		return -EIO;
	gw_put_header_ask(&b, &ask);
	if (!wait)
		return ask_cred(c->gw, NULL, &b, NULL);
	conn_go(c, CONN_CREDENTIAL, "asking");
	return ask_cred(c->gw, &c->ask, &b, on_header);
}

static void ask(struct conn *c)
{
	if (put_ask(c, true) < 0)
		refuse_final(c, GW_ERROR, 503,
			     c->gw->has_cred ? "no credential can be asked for"
					     : "this sandbox has no credential of that name");
}

/* There is nothing newer, or it cannot be sent: the server's 401 is the answer. */
static void pass_on(struct conn *c)
{
	conn_go(c, CONN_EXCHANGE, "still rejected");
	conn_on_exchange(c);
}

static void start_body(struct conn *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct http1_head *h = head_of(c);

	conn_go(c, CONN_BODY, "to be read first");
	if (h && h->expect_continue && !c->x->guard->rejected) {
		(void)buf_append(&c->out, go_on, sizeof(go_on) - 1);
		if (stream_flush(&c->client, &c->out, &c->down_bytes) == -EPIPE) {
			conn_end(c, "client gone");
			return;
		}
	}
	conn_on_body(c);
}

static void need_body(struct conn *c)
{
	struct body *b = &c->x->request;
	struct response_guard *g = c->x->guard;

	if (b->kind == HTTP1_BODY_LENGTH && b->left > BODY_SIGNED_MAX) {
		refuse_final(c, GW_DENY, 413, too_long);
		return;
	}
	g->digested = true;
	g->body.max = BODY_SIGNED_MAX;
	if (g->whole)
		ask(c);
	else
		start_body(c);
}

static void on_refused(struct conn *c, const struct gw_header *h)
{
	struct response_guard *g = c->x->guard;
	const char *why = h->message && h->message[0] ? h->message : NULL;

	if (h->error == ENEEDBODY && !g->digested)
		need_body(c);
	else if (h->error == EDQUOT)
		refuse_final(c, GW_DENY, 402, why ? why : "the budget of this sandbox is used up");
	else if (h->error == EPERM)
		refuse_final(c, GW_DENY, 403, why ? why : "the credential is not for this request");
	else if (g->rejected)
		pass_on(c);
	else
		refuse_final(c, GW_ERROR, 503,
			     why ? why : "there is no credential for this request");
}

static void on_header(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct gw_header h;

	if (!m || gw_get_header(m, &h) < 0) {
		if (c->x->guard->rejected)
			pass_on(c);
		else
			refuse_final(c, GW_ERROR, 503, "the credential helper has ended");
		return;
	}
	if (h.error) {
		on_refused(c, &h);
	} else {
		struct injected *in = remember(c, &h);

		send_with(c, in, head_of(c), 0);
	}
	gw_header_done(&h);
}

/* The client's body has been read to its end. */
static void body_read(struct conn *c)
{
	struct response_guard *g = c->x->guard;

	g->whole = true;
	if (g->to_read)
		provider_ask(c);
	else
		ask(c);
}

static void body_too_long(struct conn *c)
{
	struct response_guard *g = c->x->guard;

	spool_done(&g->body);
	c->x->request.copy = NULL;
	if (!g->rejected) {
		refuse_final(c, GW_DENY, 413, too_long);
		return;
	}
	(void)put_ask(c, false);
	c->x->cut = true;
	pass_on(c);
}

/* false: c waits or has gone on. */
static bool body_piece(struct conn *c)
{
	struct exchange *x = c->x;
	struct slice payload = {0};
	ssize_t n = c->in.len ? body_take(&x->request, &c->in, &payload) : 0;

	if (n < 0) {
		refuse_as(c, GW_DENY, 400, "the request's body is malformed");
		return false;
	}
	if (spool_put(&x->guard->body, payload.p, payload.n) < 0) {
		body_too_long(c);
		return false;
	}
	buf_consume(&c->in, (size_t)n);
	if (n || x->request.done)
		return true;
	n = body_fill(c->gw, &c->client, &c->in);
	if (n > 0) {
		conn_touch(c);
		return true;
	}
	if (n == -EAGAIN)
		conn_want(c, true, false, false, false);
	else
		conn_end(c, "client gone");
	return false;
}

void conn_on_body(struct conn *c)
{
	for (int i = 0; i < 2 * RELAY_ROUNDS; i++) {
		if (c->x->request.done) {
			body_read(c);
			return;
		}
		if (!body_piece(c))
			return;
	}
	conn_again(c);
}

bool inject_again(struct conn *c)
{
	struct exchange *x = c->x;
	struct response_guard *g = x->guard;
	struct injected *kept = find(c);

	if (!g->carries || g->rejected)
		return false;
	g->rejected = true;
	/* Another request may have got the same 401, and then a newer header, meanwhile. */
	g->newer = kept && kept->turn != g->given;
	if (kept && !g->newer)
		kept->until = 0;
	g->whole |= x->request.done && x->request.copy;
	if (g->whole) {
		ask(c);
		return true;
	}
	if (!x->request.copy) {
		(void)put_ask(c, false);
		return false;
	}
	/*
	 * The server answered before the end of the request: the rest is read into the copy, not
	 * sent.
	 */
	x->cut = true;
	start_body(c);
	return true;
}

void inject_granted(struct conn *c)
{
	struct injected *known = find(c);

	if (known && known->until > ev_now(c->gw->ev))
		send_with(c, known, head_of(c), 0);
	else
		ask(c);
}

/* All of the body is read first: it says what the request asks for, and can cost. */
static void start_unread(struct conn *c)
{
	struct response_guard *g = c->x->guard;

	g->body.max = BODY_SIGNED_MAX;
	if (g->whole)
		provider_ask(c);
	else if (c->x->request.kind == HTTP1_BODY_LENGTH && c->x->request.left > BODY_SIGNED_MAX)
		refuse_final(c, GW_DENY, 413, too_long);
	else
		start_body(c);
}

void inject_start(struct conn *c, const struct gw_route *route, size_t head_len)
{
	struct http1_head *h = &c->gw->head;
	const struct http1_field *type = http1_find(h, "content-type");
	struct exchange *x = c->x;
	struct injected *known;
	struct response_guard *g;
	const char *why;

	/* A route leads to https, or to this machine's own end of a tunnel to home, which is given no key. */
	if (!c->up_tls && !route) {
		refuse_final(c, GW_DENY, 403, "a credential is sent over TLS only");
		return;
	}
	/*
	 * A tunnel's bytes are not searched, so no upgrade is allowed. Codex then uses plain HTTP.
	 */
	if (h->upgrade.n) {
		refuse_final(c, GW_DENY, 426, "no upgrade of a connection with a credential");
		return;
	}
	g = x->guard = response_guard_new(c->gw, route);
	g->carries = true;
	g->trust = route ? route : route_trust(c, x->credential);
	g->content_type = type ? xstrndup(type->value.p, type->value.n) : NULL;
	head_len = keep_head(c, head_len);
	g->body.max = BODY_KEPT_MAX;
	g->whole = x->request.done;
	if (!g->whole && (h->body != HTTP1_BODY_LENGTH || h->length <= BODY_KEPT_MAX))
		x->request.copy = &g->body;
	why = provider_prepare(c);
	if (why) {
		refuse_final(c, GW_DENY, 403, why);
		return;
	}
	if (g->to_read) {
		buf_consume(&c->in, head_len);
		start_unread(c);
		return;
	}
	known = find(c);
	if (known && known->until > ev_now(c->gw->ev)) {
		known->used = ev_now(c->gw->ev);
		send_with(c, known, h, head_len);
		return;
	}
	buf_consume(&c->in, head_len);
	ask(c);
}
