/*
 * Bytes either way, after client and server have agreed on another protocol than HTTP (WebSocket). No
 * credential is ever sent over such a connection. What was read from one side waits in c->in or
 * c->out for the other, and no more is read meanwhile.
 */
#include "gateway/gateway-conn.h"

#include "flow/refuse.h"

enum relay { RELAY_IDLE, RELAY_BLOCKED, RELAY_MORE, RELAY_FAILED };

static enum relay relay(struct gw *gw, struct stream *from, struct stream *to, struct buf *b,
			uint64_t *count, bool *done)
{
	for (int i = 0; i < RELAY_ROUNDS; i++) {
		ssize_t n = stream_flush(to, b, count);

		if (n < 0)
			return n == -EAGAIN ? RELAY_BLOCKED : RELAY_FAILED;
		if (from->eof) {
			if (!*done)
				(void)stream_shutdown(to);
			*done = true;
		}
		if (from->eof || !from->readable)
			return RELAY_IDLE;
		n = stream_read(from, gw->scratch, SCRATCH);
		if (n > 0)
			n = stream_send(to, b, gw->scratch, (size_t)n, count);
		if (n < 0 && n != -EAGAIN)
			return RELAY_FAILED;
	}
	return RELAY_MORE;
}

void conn_on_upgrade(struct conn *c)
{
	uint64_t before = c->up_bytes + c->down_bytes;
	enum relay up = relay(c->gw, &c->client, &c->up, &c->in, &c->up_bytes, &c->up_done);
	enum relay down = relay(c->gw, &c->up, &c->client, &c->out, &c->down_bytes, &c->down_done);

	if (up == RELAY_FAILED || down == RELAY_FAILED) {
		/* A reset is passed on as one. */
		if (stream_open(&c->up))
			socket_reset_on_close(c->up.io.fd);
		conn_reset(c, "one side is gone");
		return;
	}
	if (c->up_done && c->down_done) {
		conn_end(c, "done");
		return;
	}
	if (c->up_bytes + c->down_bytes != before)
		conn_touch(c);
	if (up == RELAY_MORE || down == RELAY_MORE)
		conn_again(c);
	conn_want(c, !c->client.readable && !c->client.eof, down == RELAY_BLOCKED,
		  !c->up.readable && !c->up.eof, up == RELAY_BLOCKED);
}

uint32_t conn_upgrade_limit(const struct conn *c)
{
	return c->probed ? 0 : c->gw->config->keepalive_ms;
}

void conn_upgrade_late(struct conn *c)
{
	c->probed = true;
	socket_probe(c->client.io.fd);
	socket_probe(c->up.io.fd);
	conn_touch(c);
}

void conn_start_upgrade(struct conn *c)
{
	c->gw->health.tunnels++;
	conn_event(c, GW_OPEN, GW_ALLOW, "");
	conn_go(c, CONN_TUNNEL, "upgraded");
	/* TLS may hold bytes that no event will announce. */
	c->client.readable |= c->client.tls != NULL;
	c->up.readable |= c->up.tls != NULL;
	conn_on_upgrade(c);
}

void conn_upgrade_end(struct conn *c)
{
	if (c->state != CONN_TUNNEL)
		return;
	c->gw->health.tunnels--;
	c->gw->health.bytes_up += c->up_bytes;
	c->gw->health.bytes_down += c->down_bytes;
	if (c->is_open)
		conn_event(c, GW_END, GW_ALLOW, "");
}
