#include "gateway/exchange/ask-route.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "flow/refuse.h"
#include "gateway/question.h"

static const char asks_path[] = "/_ralph/asks";
static const char refused_path[] = "/_ralph/refused";

static void say(struct conn *c, unsigned int status, const char *why)
{
	json_t *j = json_pack("{ss}", "error", why);
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	answer_json(c, status, text ? text : "{}");
	free(text);
}

static void on_answer(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct wire_reader r;
	const char *text;
	uint32_t status;

	if (!m) {
		say(c, 503, "the supervisor does not answer");
		return;
	}
	wire_read(&r, m);
	status = wire_get_u32(&r);
	text = wire_get_str(&r);
	if (wire_read_end(&r) < 0 || status < 200 || status > 599)
		say(c, 503, "the supervisor answers nonsense");
	else
		answer_json(c, status, text);
}

static void send_ask(struct conn *c, const struct gw_ask *a)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_ask(&b, a);
	conn_go(c, CONN_ASKS, "asked");
	if (b.full || ask_line(c->gw, c->gw->sock, &c->ask, GW_ASK, &b, on_answer) < 0)
		say(c, 503, "the supervisor does not answer");
	else
		conn_want(c, false, false, false, false);
}

static const char *member(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static bool read_choices(const json_t *j, struct strv *ret)
{
	const json_t *all = json_object_get(j, "choices"), *one;
	size_t i;

	if (json_array_size(all) > GW_ASK_CHOICES_MAX)
		return false;
	json_array_foreach (all, i, one) {
		if (!json_is_string(one))
			return false;
		strv_push(ret, json_string_value(one));
	}
	return true;
}

static void put(struct conn *c, const char *body, size_t n)
{
	json_t *j = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
	struct gw_ask a = {.verb = GW_ASK_PUT};

	a.kind = member(j, "kind");
	a.what = member(j, "what");
	a.why = member(j, "why");
	if (!json_is_object(j) || !read_choices(j, &a.choices) || strlen(a.kind) > GW_NAME_MAX ||
	    strlen(a.what) > GW_ASK_TEXT_MAX || strlen(a.why) > GW_ASK_TEXT_MAX)
		say(c, 400, "an ask is a JSON object with kind, what and why");
	else
		send_ask(c, &a);
	strv_done(&a.choices);
	json_decref(j);
}

void conn_on_asks(struct conn *c)
{
	uint64_t left = c->x->request.left;

	if (c->ask.id)
		return;
	while (c->in.len < left) {
		ssize_t n = conn_fill(c);

		if (n > 0)
			continue;
		if (n == -EAGAIN)
			conn_want(c, true, false, false, false);
		else
			conn_end(c, "client gone");
		return;
	}
	put(c, c->in.data, (size_t)left);
}

/* "name=N" and nothing else; false: malformed. No query is 0. */
static bool read_query(struct slice q, const char *name, uint64_t max, uint64_t *ret)
{
	char text[32];
	size_t n = strlen(name);

	*ret = 0;
	if (!q.p)
		return true;
	if (q.n <= n || q.n - n >= sizeof(text) || memcmp(q.p, name, n) != 0)
		return false;
	memcpy(text, q.p + n, q.n - n);
	text[q.n - n] = '\0';
	return parse_uint(text, 0, max, ret) == 0;
}

static void take_body(struct conn *c, const struct http1_head *h, size_t head_len)
{
	if (h->body != HTTP1_BODY_LENGTH || h->length == 0) {
		say(c, 411, "an ask has a body with a Content-Length");
		return;
	}
	if (h->length > GW_ASK_BODY_MAX) {
		say(c, 413, "the ask is too long");
		return;
	}
	c->x->request.left = h->length;
	buf_consume(&c->in, head_len);
	conn_go(c, CONN_ASKS, "an ask arrives");
	conn_on_asks(c);
}

static void get(struct conn *c, const struct http1_head *h, struct slice id)
{
	cleanup_free char *what = xstrndup(id.p, id.n);
	struct gw_ask a = {.verb = GW_ASK_GET, .what = what};
	uint64_t wait;

	if (!read_query(h->url.query, "wait=", GW_ASK_WAIT_MAX_S, &wait)) {
		say(c, 400, "wait is a number of seconds, at most 30");
		return;
	}
	a.wait_s = (uint32_t)wait;
	send_ask(c, &a);
}

static void refused(struct conn *c, const struct http1_head *h)
{
	struct gw_ask a = {.verb = GW_ASK_REFUSED};

	if (read_query(h->url.query, "since=", INT64_MAX, &a.since))
		send_ask(c, &a);
	else
		say(c, 400, "since is a number");
}

bool asks_request(struct conn *c, const struct http1_head *h, size_t head_len)
{
	bool is_get = http1_method_is(h, "GET"), is_post = http1_method_is(h, "POST");
	size_t n = sizeof(asks_path) - 1;
	struct slice path = h->url.path;

	if (slice_eq(path, slice_of(refused_path)) && is_get) {
		exchange_quiet(c);
		refused(c, h);
		return true;
	}
	if (path.n < n || memcmp(path.p, asks_path, n) != 0 || (path.n > n && path.p[n] != '/'))
		return false;
	exchange_quiet(c);
	if (path.n == n && is_post)
		take_body(c, h, head_len);
	else if (path.n > n + 1 && path.n <= n + GW_ASK_ID_MAX && is_get)
		get(c, h, (struct slice){path.p + n + 1, path.n - n - 1});
	else
		say(c, 405, "POST /_ralph/asks, or GET /_ralph/asks/ID");
	return true;
}
