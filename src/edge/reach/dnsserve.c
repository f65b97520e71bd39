#include "edge/reach/dnsserve.h"

#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "edge/parse/dns.h"
#include "flow/event.h"
#include "edge/edge.h"
#include "edge/listen.h"
#include "edge/reach/names.h"
#include "flow/stream.h"
#include "policy/policy.h"

/* One event reads at most this many queries; the rest wait their turn. */
#define DATAGRAMS_BURST 32

static void note(struct gw *gw, const char *host, bool allow, const char *reason)
{
	struct gw_event e = {
		.verb = GW_VERB_DNS,
		.verdict = allow ? GW_ALLOW : GW_DENY,
		.phase = GW_END,
		.port = 53,
		.host = host,
		.reason = reason,
	};

	event_send(gw, &e);
}

/* A literal is no name to ask for, and "localhost" is the sandbox itself. */
static enum dns_rcode judge(struct gw *gw, const struct dns_query *q, struct host *h,
			    const char **ret_reason)
{
	struct err err = {0};

	if (q->name_len == 0)
		return DNS_NOERROR;
	if (host_parse(q->name, q->name_len, h, &err) < 0 || h->kind != HOST_NAME) {
		*ret_reason = "not a host name";
		return DNS_NXDOMAIN;
	}
	if (host_is_loopback_name(h))
		return DNS_NOERROR;
	if (host_is_metadata_name(h) || !policy_any_port(gw->policy, h)) {
		*ret_reason = "no rule allows this name";
		return DNS_NXDOMAIN;
	}
	return DNS_NOERROR;
}

static size_t reply_to(struct gw *gw, const struct dns_query *q, uint8_t *out, size_t cap)
{
	struct dns_answer a = {.ttl = DNS_TTL};
	const char *reason = "";
	struct host h = {0};
	struct in6_addr a6;
	struct in_addr a4;
	struct name *nm;

	a.rcode = judge(gw, q, &h, &reason);
	if (a.rcode == DNS_NXDOMAIN) {
		/* Many programs ask for the name of an address; nothing is refused by that. */
		if (q->qtype != DNS_PTR)
			note(gw, q->name, false, reason);
		return dns_put_answer(out, cap, q, &a);
	}
	if (q->name_len == 0 || (q->qtype != DNS_A && q->qtype != DNS_AAAA))
		return dns_put_answer(out, cap, q, &a);
	if (host_is_loopback_name(&h)) {
		a4.s_addr = htonl(INADDR_LOOPBACK);
		a6 = in6addr_loopback;
		a.a4 = &a4;
		a.a6 = &a6;
		a.n_a4 = a.n_a6 = 1;
		return dns_put_answer(out, cap, q, &a);
	}
	nm = names_get(gw->edge->names, h.name);
	if (!nm) {
		a.rcode = DNS_SERVFAIL;
		note(gw, h.name, false, "connections hold all stand-in addresses");
		return dns_put_answer(out, cap, q, &a);
	}
	name_v4(gw->edge->names, nm, &a4);
	a.a4 = &a4;
	a.n_a4 = 1;
	if (name_v6(gw->edge->names, nm, &a6)) {
		a.a6 = &a6;
		a.n_a6 = 1;
	}
	note(gw, h.name, true, "");
	return dns_put_answer(out, cap, q, &a);
}

static size_t serve(struct gw *gw, const void *query, size_t len, bool udp, uint8_t *out,
		    size_t cap)
{
	struct dns_query q;
	int r = dns_parse_query(query, len, &q);

	if (r < 0)
		return dns_put_refusal(out, cap, query, len, r);
	if (udp && dns_udp_limit(&q) < cap)
		cap = dns_udp_limit(&q);
	return reply_to(gw, &q, out, cap);
}

void dns_datagrams(struct gw *gw, int fd)
{
	for (int i = 0; i < DATAGRAMS_BURST; i++) {
		uint8_t query[DNS_QUERY_MAX + 1], answer[DNS_UDP_MAX];
		union sockaddr_any from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, query, sizeof(query), 0, &from.sa, &from_len);
		size_t out;

		if (n < 0)
			return;
		if (n > DNS_QUERY_MAX)
			continue;
		out = serve(gw, query, (size_t)n, true, answer, sizeof(answer));
		if (out)
			(void)sendto(fd, answer, out, MSG_NOSIGNAL | MSG_DONTWAIT, &from.sa,
				     from_len);
	}
}

/* A TCP client: one query at a time, answers in order. */
struct dns_conn {
	struct gw *gw;
	struct stream s;
	struct buf in, out;
	struct ev_timer timer;
	struct ev_defer gone;
};

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	struct dns_conn *c = ev_owner(d, struct dns_conn, gone);

	c->gw->health.connections--;
	listeners_resume(c->gw);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static void end(struct dns_conn *c)
{
	stream_done(&c->s, c->gw->ev);
	ev_timer_stop(c->gw->ev, &c->timer);
	ev_defer(c->gw->ev, &c->gone);
}

/* false: the connection has ended. */
static bool answer_all(struct dns_conn *c)
{
	struct slice msg;
	uint64_t count = 0;

	for (;;) {
		uint8_t answer[2 + DNS_TCP_MAX];
		ssize_t used = 0;
		size_t n;
		int r = stream_flush(&c->s, &c->out, &count);

		if (r == -EAGAIN)
			return true;
		if (r == 0 && c->in.len)
			used = dns_tcp_frame(c->in.data, c->in.len, &msg);
		if (r < 0 || used < 0)
			return false;
		if (used == 0)
			return true;
		n = serve(c->gw, msg.p, msg.n, false, answer + 2, DNS_TCP_MAX);
		if (n == 0)
			return false;
		dns_put_tcp_length(answer, (uint16_t)n);
		(void)buf_append(&c->out, answer, n + 2);
		buf_consume(&c->in, (size_t)used);
	}
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct dns_conn *c = ev_owner(io, struct dns_conn, s.io);
	ssize_t n = -EAGAIN;

	if (c->out.len == 0 && (events & ~(uint32_t)EPOLLOUT)) {
		(void)buf_reserve(&c->in, buf_room(&c->in));
		n = stream_read(&c->s, c->in.data + c->in.len, buf_room(&c->in));
		if (n > 0)
			c->in.len += (size_t)n;
		else if (n != -EAGAIN) {
			end(c);
			return;
		}
	}
	if (!answer_all(c)) {
		end(c);
		return;
	}
	if (n > 0)
		ev_timer_set(ev, &c->timer, HEAD_MS);
	if (ev_want(ev, io, c->out.len ? EPOLLOUT : EPOLLIN) < 0)
		end(c);
}

static void on_late(struct ev *ev, struct ev_timer *t)
{
	end(ev_owner(t, struct dns_conn, timer));
}

void dns_accept(struct gw *gw, int fd)
{
	struct dns_conn *c = xcalloc(1, sizeof(*c));

	c->gw = gw;
	stream_init(&c->s, fd, on_io);
	buf_init(&c->in, 2 + DNS_QUERY_MAX);
	buf_init(&c->out, 2 + DNS_TCP_MAX);
	c->timer.fn = on_late;
	c->gone.fn = on_gone;
	gw->health.connections++;
	ev_timer_set(gw->ev, &c->timer, HEAD_MS);
	if (ev_want(gw->ev, &c->s.io, EPOLLIN) < 0)
		end(c);
}
