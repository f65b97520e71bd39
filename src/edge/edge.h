#pragma once

/*
 * ROOM: edge
 *
 * The outer half of a sandbox's network: listeners, names, dialling, opaque tunnels. It holds no
 * credential and no line to one, ends no TLS, and reads of HTTP only CONNECT. Connections that have to
 * be read go to the gateway.
 */

#include "edge/reach/resolve.h"
#include "edge/tunnel.h"
#include "flow/conn.h"
#include "wire/edge-proto.h"

struct dial;
struct listener;
struct name;
struct names;
struct resolver;

struct edge {
	struct gw *gw;
	struct names *names;
	struct resolver *resolver;
	struct listener *listeners;
	size_t n_listeners;
	size_t knocks; /* on the host's port, see outpost-port.h */
	bool accepting;
	struct ev_io arrivals, dials; /* the lines to the gateway, see wire/edge-proto.h */
	int pipes[PIPES_IDLE][2];     /* empty ones */
	size_t n_pipes, pipes_used;
};

/* A connection, as the edge has it. */
struct edge_conn {
	struct conn c;
	union sockaddr_any dialled; /* inside; AF_UNSPEC: the client's socket knows */
	struct name *name;	    /* that the dialled address stands for */
	uint8_t socks_step;
	bool via;	   /* through the host's proxy */
	struct buf via_in; /* read from the host's proxy; what is behind its answer */
	struct lookup lookup;
	struct dial *dial;
	struct tunnel tunnel;

	/* A dial of the gateway's, with SPEAKS_DIAL. */
	uint32_t question;
	bool plain;		      /* for a request without TLS */
	const struct gw_route *route; /* that needs no rule, or NULL */
	enum edge_first first;	      /* in CONN_PASS: its bytes */
};

static inline struct edge_conn *own(const struct conn *c)
{
	return ev_owner(c, struct edge_conn, c);
}

extern const struct program edge_program;

/* No Nagle delays, for both sides. */
void socket_tune(int fd);

/* A connection from a listener, which may be over before this returns. Takes fd. dialled: the address
 * inside; AF_UNSPEC where the socket itself knows it. */
struct conn *edge_accept(struct gw *gw, const struct listener *l, int fd,
			 const union sockaddr_any *dialled);

/* proxy.c: the steps up to a decided target. */
void edge_on_first(struct conn *c);
void edge_on_socks(struct conn *c);
void edge_on_head(struct conn *c);
/* A transparent connection: the target comes from the address that was dialled. */
void edge_start_transparent(struct conn *c);
/* Tells the client that its CONNECT or SOCKS request is granted. */
void edge_say_yes(struct conn *c);

/* first-bytes.c: what the first bytes behind a decided target are. */
void edge_on_hello(struct conn *c);
struct hello;
/* The name in a ClientHello, as conn_named(); NAMED_ANEW leaves c in CONN_HELLO. */
enum named edge_named_by_hello(struct conn *c, const struct hello *h);

/* reach/server.c */
void edge_open_server(struct conn *c);
void edge_on_via(struct conn *c);
void edge_drop_server(struct conn *c);

/* tunnel.c */
/* check: the client's first bytes are judged before any of them passes. */
void edge_start_tunnel(struct conn *c, bool check);
void edge_on_tunnel(struct conn *c);
/* The tunnel is silent, or what must come first did not. */
void edge_tunnel_late(struct conn *c);
uint32_t edge_tunnel_limit(const struct conn *c);
/* Gives back what the tunnel holds and records its end. */
void edge_tunnel_end(struct conn *c);

/* pass.c: the lines to the gateway. */
int pass_attach(struct gw *gw, struct err *err);
/* Hands c over with the bytes that were read. */
void pass_conn(struct conn *c, enum edge_first first);
/* Answers the dial of the gateway's that c is: the connection stands, or `no` says why not. */
void pass_dialled(struct conn *c, const struct refusal *no);
