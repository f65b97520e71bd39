/*
 * DOC: Theory of operation
 *
 * Two pumps, one per direction. A pump moves bytes until its source is drained or its sink is
 * full; then only the side it waits for keeps its interest, so a slow reader stops its sender and
 * costs one buffer or one pipe. Small reads are copied through the process-wide scratch buffer;
 * once large ones come in a row the bytes stay in the kernel, spliced through a pipe. Pipes are
 * borrowed while bytes are in them and go back to a small store when empty.
 *
 * The client's first bytes are held until they have been judged: a ClientHello must name the
 * allowed server, and on port 443 there must be one. Bytes that the server sends first pass
 * meanwhile, for protocols in which the server begins. A ClientHello for an inspected server ends
 * the tunnel, and its connection goes on as one to that server (flow/named.c).
 *
 * Each ClientHello is judged while it can be read. After a HelloRetryRequest the client sends a
 * second one, and could send it before that request has come. So the client's bytes behind a
 * ClientHello wait in the kernel until the server has answered: an ordinary ServerHello opens the
 * tunnel, since all that such a server takes from then on belongs to this one handshake; behind a
 * HelloRetryRequest the next ClientHello is judged as the first was.
 *
 * A silent tunnel has no deadline. After network.keepalive both ends are probed by TCP, which costs
 * short tunnels nothing; one that no longer answers is gone.
 */
#include "edge/tunnel.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "edge/edge.h"
#include "edge/parse/hello.h"
#include "flow/refuse.h"
#include "flow/sniff.h"
#include "edge/reach/names.h"

/* The result of a relay step. */
enum relay { RELAY_IDLE, RELAY_BLOCKED, RELAY_MORE, RELAY_FAILED };

static bool pipe_get(struct gw *gw, struct pump *p)
{
	if (p->pipe[0] >= 0)
		return true;
	if (gw->edge->pipes_used >= PIPES_MAX)
		return false;
	if (gw->edge->n_pipes) {
		memcpy(p->pipe, gw->edge->pipes[--gw->edge->n_pipes], sizeof(p->pipe));
	} else {
		if (pipe2(p->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
			p->pipe[0] = p->pipe[1] = -1;
			return false;
		}
		/* A smaller one works as well. */
		(void)fcntl(p->pipe[1], F_SETPIPE_SZ, (int)PIPE_SIZE);
	}
	gw->edge->pipes_used++;
	return true;
}

static void pipe_put(struct gw *gw, struct pump *p)
{
	if (p->pipe[0] < 0)
		return;
	gw->edge->pipes_used--;
	if (p->in_pipe == 0 && gw->edge->n_pipes < PIPES_IDLE) {
		memcpy(gw->edge->pipes[gw->edge->n_pipes++], p->pipe, sizeof(p->pipe));
		p->pipe[0] = p->pipe[1] = -1;
	}
	closep(&p->pipe[0]);
	closep(&p->pipe[1]);
	p->in_pipe = 0;
}

static ssize_t splice_some(int from, int to, size_t n)
{
	ssize_t r;

	do
		r = splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static ssize_t drain_pipe(struct pump *p, struct stream *to, uint64_t *count)
{
	while (p->in_pipe) {
		ssize_t n = splice_some(p->pipe[0], to->io.fd, p->in_pipe);

		if (n <= 0)
			return n < 0 ? n : -EPIPE;
		p->in_pipe -= (size_t)n;
		*count += (uint64_t)n;
	}
	return 0;
}

static ssize_t fill_pipe(struct pump *p, struct stream *from)
{
	ssize_t n = splice_some(from->io.fd, p->pipe[1], PIPE_SIZE);

	if (n > 0) {
		p->in_pipe += (size_t)n;
		if ((size_t)n < SPLICE_READ)
			p->run = 0;
		return n;
	}
	from->readable = false;
	if (n == 0)
		from->eof = true;
	return n;
}

/*
 * The first bytes to a server leave at once, since none before them wait to be acknowledged. So the
 * socket is told not to wait for that before its second bytes: short tunnels have none.
 */
static void tune(struct pump *p, const struct stream *to, uint64_t written)
{
	if (!p->untuned || !written)
		return;
	socket_tune(to->io.fd);
	p->untuned = false;
}

static ssize_t copy_some(struct gw *gw, struct pump *p, struct stream *from, struct stream *to,
			 uint64_t *count)
{
	ssize_t n = stream_read(from, gw->scratch, SCRATCH);
	int r;

	if (n <= 0)
		return n;
	if (p->tunnel)
		p->tunnel->said = server_hello_feed(&p->tunnel->hello, gw->scratch, (size_t)n);
	tune(p, to, *count);
	p->run = (size_t)n >= SPLICE_READ ? p->run + (size_t)n : 0;
	r = stream_send(to, &p->pending, gw->scratch, (size_t)n, count);
	return r < 0 ? r : n;
}

/* Writes the bytes that were read before: the buffer first, then the pipe. */
static ssize_t flush(struct pump *p, struct stream *to, uint64_t *count)
{
	ssize_t r;

	if (p->pending.len || p->in_pipe)
		tune(p, to, *count);
	r = p->pending.len ? stream_flush(to, &p->pending, count) : 0;
	return r < 0 ? r : drain_pipe(p, to, count);
}

static enum relay relay(struct gw *gw, struct pump *p, struct stream *from, struct stream *to,
			uint64_t *count)
{
	for (int i = 0; i < RELAY_ROUNDS; i++) {
		ssize_t r = flush(p, to, count);

		if (r == -EAGAIN)
			return RELAY_BLOCKED;
		if (r < 0)
			return RELAY_FAILED;
		if (from->eof) {
			/* If the other direction is over, closing the socket says it all. */
			if (!p->done && !to->eof)
				(void)stream_shutdown(to);
			p->done = true;
			return RELAY_IDLE;
		}
		if (!from->readable || (p->tunnel && p->tunnel->said != SERVER_HELLO_MORE))
			return RELAY_IDLE;
		if (p->run >= SPLICE_AFTER && pipe_get(gw, p))
			r = fill_pipe(p, from);
		else
			r = copy_some(gw, p, from, to, count);
		if (r < 0 && r != -EAGAIN)
			return RELAY_FAILED;
	}
	return RELAY_MORE;
}

static void give_pending(struct buf *from, struct pump *p)
{
	if (from->len)
		(void)buf_append(&p->pending, from->data, from->len);
	buf_done(from);
}

/* Hands the first n bytes that came from the client to the pump. */
static void pass(struct conn *c, size_t n)
{
	(void)buf_append(&own(c)->tunnel.up.pending, c->in.data, n);
	buf_consume(&c->in, n);
}

/* Does a record stand there that may come between two ClientHellos? Those are ChangeCipherSpec,
 * alerts, and early data if it was announced: they hold no handshake message. */
static bool is_between(const struct conn *c)
{
	unsigned char type = c->in.len ? (unsigned char)c->in.data[0] : 0;

	return own(c)->tunnel.retried &&
	       (type == 20 || type == 21 || (type == 23 && own(c)->tunnel.early));
}

static void pass_between(struct conn *c)
{
	while (is_between(c) && c->in.len >= 5) {
		const unsigned char *r = (const unsigned char *)c->in.data;
		size_t n = 5 + (size_t)(r[3] << 8 | r[4]);

		if (c->in.len < n || buf_room(&own(c)->tunnel.up.pending) < n)
			return;
		pass(c, n);
	}
}

/* 1: it passed; 0: more bytes are needed; -1: c is over. */
static int judge_hello(struct conn *c)
{
	struct tunnel *t = &own(c)->tunnel;
	enum named named = NAMED_REFUSED;
	struct hello h;
	ssize_t n = hello_parse(c->in.data, c->in.len, &h);

	if (n == 0)
		return 0;
	if (n < 0)
		refuse_as(c, GW_DENY, 403, hello_reason_str((int)n));
	else
		named = edge_named_by_hello(c, &h);
	if (named == NAMED_ANEW)
		edge_on_hello(c);
	if (named != NAMED_SAME)
		return -1;
	pass(c, (size_t)n);
	t->early = h.early_data;
	t->answer = true;
	t->down.tunnel = t;
	return 1;
}

/* 1: they may pass; 0: not yet; -1: c is over. */
static int judge_bytes(struct conn *c)
{
	enum sniff s;

	pass_between(c);
	if (c->in.len == 0 || is_between(c))
		return 0;
	s = sniff_protocol(c->in.data, c->in.len);
	if (own(c)->tunnel.retried || s == SNIFF_TLS)
		return judge_hello(c);
	if (s == SNIFF_MORE)
		return 0;
	if (!own(c)->tunnel.tls_only) {
		give_pending(&c->in, &own(c)->tunnel.up);
		return 1;
	}
	refuse_as(c, GW_DENY, 403,
		  c->port == 443 ? "plain bytes on port 443"
				 : "plain bytes to an address that has stood for another name");
	return -1;
}

/* The same, with as many bytes as there are. */
static int judge(struct conn *c)
{
	for (;;) {
		int r = judge_bytes(c);
		ssize_t n;

		if (r)
			return r;
		if (!c->client.readable)
			return 0;
		n = conn_fill(c);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0) {
			/*
			 * The client ended after one byte that two protocols share: it passes where
			 * plain bytes do.
			 */
			if (n == 0 && !own(c)->tunnel.tls_only && !own(c)->tunnel.retried) {
				give_pending(&c->in, &own(c)->tunnel.up);
				return 1;
			}
			conn_end(c, "client gone");
			return -1;
		}
	}
}

/* Plain sockets are told of once: each change of interest is a system call. */
static void want(struct conn *c)
{
	if (ev_want(c->gw->ev, &c->client.io, STREAM_EDGES) < 0 ||
	    ev_want(c->gw->ev, &c->up.io, STREAM_EDGES) < 0)
		conn_end(c, "epoll refused");
}

static void settle(struct conn *c, enum relay up, enum relay down)
{
	if (up == RELAY_FAILED || down == RELAY_FAILED) {
		/* A reset is passed on as one. */
		if (stream_open(&c->up))
			socket_reset_on_close(c->up.io.fd);
		conn_reset(c, "one side is gone");
		return;
	}
	if (own(c)->tunnel.up.done && own(c)->tunnel.down.done) {
		conn_end(c, "done");
		return;
	}
	if (up == RELAY_MORE || down == RELAY_MORE)
		conn_again(c);
	want(c);
}

/* Towards the server: what has been judged, or everything. */
static enum relay relay_up(struct conn *c)
{
	struct tunnel *t = &own(c)->tunnel;
	ssize_t r;

	if (!t->check && !t->answer)
		return relay(c->gw, &t->up, &c->client, &c->up, &c->up_bytes);
	r = flush(&t->up, &c->up, &c->up_bytes);
	return r == 0 ? RELAY_IDLE : r == -EAGAIN ? RELAY_BLOCKED : RELAY_FAILED;
}

/* The server has answered a ClientHello; false: c is over. */
static bool on_answer(struct conn *c)
{
	struct tunnel *t = &own(c)->tunnel;

	if (t->said == SERVER_HELLO_NOT_TLS) {
		refuse_as(c, GW_ERROR, 502, "the server did not answer with TLS");
		return false;
	}
	if (t->said == SERVER_HELLO_MORE) {
		if (t->down.done)
			conn_end(c, "the server closed");
		return !t->down.done;
	}
	t->answer = false;
	t->check = t->retried = t->said == SERVER_HELLO_RETRY;
	t->said = SERVER_HELLO_MORE;
	if (!t->check) {
		t->down.tunnel = NULL;
		give_pending(&c->in, &t->up);
	}
	/* The client's bytes may be here already, and the server's next ones too. */
	if (t->up.pending.len || c->in.len || c->client.readable || c->up.readable)
		conn_again(c);
	return true;
}

void edge_on_tunnel(struct conn *c)
{
	uint64_t before = c->up_bytes + c->down_bytes;
	struct tunnel *t = &own(c)->tunnel;
	enum relay up, down = RELAY_IDLE;

	if (t->check) {
		int r = judge(c);

		if (r < 0)
			return;
		t->check = r == 0;
	}
	up = relay_up(c);
	/* A server that only TLS may reach does not begin. */
	if (!t->check || !t->tls_only || t->retried)
		down = relay(c->gw, &t->down, &c->up, &c->client, &c->down_bytes);
	if (t->answer && up != RELAY_FAILED && down != RELAY_FAILED && !on_answer(c))
		return;
	if (t->up.in_pipe == 0)
		pipe_put(c->gw, &t->up);
	if (t->down.in_pipe == 0)
		pipe_put(c->gw, &t->down);
	if (c->up_bytes + c->down_bytes != before)
		conn_touch(c);
	settle(c, up, down);
}

void edge_tunnel_late(struct conn *c)
{
	struct tunnel *t = &own(c)->tunnel;

	if ((t->check && t->tls_only) || t->answer) {
		conn_end(c, "deadline");
		return;
	}
	t->probed = true;
	socket_probe(c->client.io.fd);
	socket_probe(c->up.io.fd);
	conn_touch(c);
}

uint32_t edge_tunnel_limit(const struct conn *c)
{
	const struct tunnel *t = &own(c)->tunnel;

	if (t->answer)
		return ANSWER_MS;
	if (t->check && t->tls_only)
		return conn_head_limit(c);
	return t->probed ? 0 : c->gw->config->keepalive_ms;
}

static void pump_init(struct pump *p)
{
	*p = (struct pump){.pipe = {-1, -1}};
	buf_init(&p->pending, PENDING_MAX);
}

void edge_start_tunnel(struct conn *c, bool check)
{
	struct tunnel *t = &own(c)->tunnel;

	*t = (struct tunnel){.check = check};
	t->tls_only =
		check && (c->port == 443 || (own(c)->name && name_is_second_hand(own(c)->name)));
	pump_init(&t->up);
	t->up.untuned = true;
	pump_init(&t->down);
	c->gw->health.tunnels++;
	if (!check)
		give_pending(&c->in, &t->up);
	give_pending(&c->out, &t->down);
	give_pending(&own(c)->via_in, &t->down);
	conn_event(c, GW_OPEN, GW_ALLOW, "");
	conn_go(c, CONN_TUNNEL, "open");
	edge_on_tunnel(c);
}

static void pump_done(struct gw *gw, struct pump *p)
{
	pipe_put(gw, p);
	buf_done(&p->pending);
}

void edge_tunnel_end(struct conn *c)
{
	struct tunnel *t = &own(c)->tunnel;

	if (c->state != CONN_TUNNEL)
		return;
	pump_done(c->gw, &t->up);
	pump_done(c->gw, &t->down);
	c->gw->health.tunnels--;
	c->gw->health.bytes_up += c->up_bytes;
	c->gw->health.bytes_down += c->down_bytes;
	if (c->is_open)
		conn_event(c, GW_END, GW_ALLOW, "");
}
