/*
 * Connections of clients that speak HTTP/2. The connection itself stays in CONN_H2; each stream is a
 * struct conn of its own, which begins with its request's head and is judged by itself. It has
 * everything of the connection that was decided before: the target, the end of TLS, the listener.
 */
#include "gateway/h2/h2-server.h"

#include "flow/refuse.h"

struct client {
	struct h2 h2;
	struct conn *c;
};

static struct client *client_of(struct h2 *h)
{
	return ev_owner(h, struct client, h2);
}

static void on_opened(struct h2_stream *st)
{
	const struct conn *c = client_of(st->h2)->c;
	struct conn *own = conn_new(c->gw, -1);

	own->listen_kind = c->listen_kind;
	own->listen_port = c->listen_port;
	own->row = c->row;
	own->verb = c->verb;
	own->speaks = SPEAKS_HTTP;
	own->host = c->host;
	own->port = c->port;
	own->has_target = own->fixed = c->fixed;
	own->verdict = c->verdict;
	own->terminated = c->terminated;
	if (c->fixed)
		conn_set_rule(own, policy_rule_of(c->gw->policy, &c->verdict));
	h2_stream_attach(st, &own->client, own->client.io.fn);
	own->client.readable = true;
	conn_go(own, CONN_HEAD, "stream");
	conn_on_head(own);
}

static void on_reset(struct h2_stream *st)
{
	conn_end(ev_owner(st->s, struct conn, client), "the client took its stream back");
}

static void on_malformed(struct h2 *h, const char *why)
{
	conn_event(client_of(h)->c, GW_END, GW_DENY, why);
}

static void on_alive(struct h2 *h)
{
	conn_touch(client_of(h)->c);
}

static void on_over(struct h2 *h, const char *why)
{
	struct conn *c = client_of(h)->c;

	if (why[0]) {
		refuse_event(c, GW_DENY, why);
		h2_last_words(h, &c->out);
	}
	conn_finish(c, why);
}

static void on_want(struct h2 *h)
{
	struct conn *c = client_of(h)->c;

	if (!h->blocked && c->client.readable)
		conn_again(c);
	conn_want(c, !h->blocked && !c->client.readable, h->blocked, false, false);
}

static const struct h2_ops ops = {
	.opened = on_opened,
	.reset = on_reset,
	.malformed = on_malformed,
	.alive = on_alive,
	.over = on_over,
	.want = on_want,
};

static void client_free(struct h2 *h)
{
	free(client_of(h));
}

void conn_h2_end(struct conn *c)
{
	struct h2 *h = c->h2;

	c->h2 = NULL;
	if (h)
		h2_close(h, client_free);
}

uint32_t conn_h2_limit(const struct conn *c)
{
	if (!c->h2 || !c->h2->settled)
		return conn_head_limit(c);
	return c->h2->streams ? RESPONSE_MS : KEEPALIVE_MS;
}

void conn_h2_late(struct conn *c)
{
	(void)nghttp2_session_terminate_session(c->h2->ng, NGHTTP2_NO_ERROR);
	h2_last_words(c->h2, &c->out);
	conn_finish(c, "deadline");
}

void conn_on_h2(struct conn *c)
{
	for (int i = 0; i < RELAY_ROUNDS && !c->h2->blocked; i++) {
		ssize_t n = stream_read(&c->client, c->gw->scratch, SCRATCH);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			conn_end(c, "client gone");
			return;
		}
		if (!h2_receive(c->h2, c->gw->scratch, (size_t)n))
			return;
	}
	(void)h2_run(c->h2);
}

void conn_start_h2(struct conn *c)
{
	struct client *own = xcalloc(1, sizeof(*own));

	conn_drop_upstream(c); /* of a request that came before the preface */
	own->c = c;
	own->h2.https = c->terminated;
	c->h2 = &own->h2;
	if (h2_init(c->h2, c->gw, true, &c->client, &ops) < 0) {
		conn_end(c, "HTTP/2 cannot be set up");
		return;
	}
	conn_go(c, CONN_H2, "HTTP/2");
	if (c->in.len && !h2_receive(c->h2, c->in.data, c->in.len))
		return;
	buf_done(&c->in);
	conn_on_h2(c);
}

bool conn_is_preface(const struct conn *c)
{
	size_t n = c->in.len < NGHTTP2_CLIENT_MAGIC_LEN ? c->in.len : NGHTTP2_CLIENT_MAGIC_LEN;

	/* Over TLS the handshake says that it is HTTP/2. */
	return !c->terminated && !c->h2 && !h2_stream_of(&c->client) && n >= 16 &&
	       memcmp(c->in.data, NGHTTP2_CLIENT_MAGIC, n) == 0;
}

bool conn_is_grpc(const struct conn *c)
{
	const struct h2_stream *st = h2_stream_of(&c->client);

	return st && st->grpc;
}
