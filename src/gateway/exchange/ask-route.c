#include "gateway/exchange/ask-route.h"

#include <string.h>

#include "flow/refuse.h"
#include "gateway/question.h"
#include "wire/reader-proto.h"

static const char asks_path[] = "/_ralph/asks";
static const char refused_path[] = "/_ralph/refused";

static void no_answer(struct conn *c)
{
	answer_json(c, 503, "{\"error\":\"the supervisor does not answer\"}");
}

static void on_answer(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct wire_reader r;
	const char *text;
	uint32_t status;

	if (!m) {
		no_answer(c);
		return;
	}
	wire_read(&r, m);
	status = wire_get_u32(&r);
	text = wire_get_str(&r);
	if (wire_read_end(&r) < 0 || status < 200 || status > 599)
		no_answer(c);
	else
		answer_json(c, status, text);
}

/* The reader makes an ask of it for the supervisor, or says what is wrong with it. */
static void hand_over(struct conn *c)
{
	const struct reader_ask q = {.method = c->x->method,
				     .target = c->x->target,
				     .body = c->in.data,
				     .n = (size_t)c->x->request.left};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_ask(&b, &q);
	conn_go(c, CONN_ASKS, "asked");
	if (ask_reader(c->gw, &c->ask, READER_ASK, &b, -1, on_answer) < 0)
		no_answer(c);
	else
		conn_want(c, false, false, false, false);
}

void conn_on_asks(struct conn *c)
{
	if (c->ask.id)
		return;
	while (c->in.len < c->x->request.left) {
		ssize_t n = conn_fill(c);

		if (n > 0)
			continue;
		if (n == -EAGAIN)
			conn_want(c, true, false, false, false);
		else
			conn_end(c, "client gone");
		return;
	}
	hand_over(c);
}

bool asks_request(struct conn *c, const struct http1_head *h, size_t head_len)
{
	bool is_post = http1_method_is(h, "POST");
	size_t n = sizeof(asks_path) - 1;
	struct slice path = h->url.path;

	if (!slice_eq(path, slice_of(refused_path)) &&
	    (path.n < n || memcmp(path.p, asks_path, n) != 0 || (path.n > n && path.p[n] != '/')))
		return false;
	exchange_quiet(c);
	c->x->target = xasprintf("%.*s%s%.*s", (int)path.n, path.p, h->url.query.p ? "?" : "",
				 (int)h->url.query.n, h->url.query.p ? h->url.query.p : "");
	c->x->request.left = 0;
	buf_consume(&c->in, head_len);
	if (is_post && (h->body != HTTP1_BODY_LENGTH || h->length == 0)) {
		answer_json(c, 411, "{\"error\":\"an ask has a body with a Content-Length\"}");
	} else if (is_post && h->length > GW_ASK_BODY_MAX) {
		answer_json(c, 413, "{\"error\":\"the ask is too long\"}");
	} else {
		if (is_post)
			c->x->request.left = h->length;
		conn_go(c, CONN_ASKS, "an ask arrives");
		conn_on_asks(c);
	}
	return true;
}
