#pragma once

#include "wire/gateway-proto.h"

/*
 * The protocol between edge and gateway, over two lines that the supervisor makes (GW_LINES: a pair of
 * descriptors for each of them).
 *
 * Arrivals: the edge hands over a connection of the sandbox that the gateway is to read, with the bytes
 * that were read from it so far (EDGE_CONN). The gateway takes them like a listener's connections:
 * it leaves them in the line while it has as many as it may have.
 *
 * Dials: the gateway asks for a connection to a server (EDGE_DIAL) and gets it, or the reason why not
 * (EDGE_DIAL_IS, same id). The edge judges name and address as for any other connection. The
 * gateway also gives a connection of the proxy port back whose next request is CONNECT (EDGE_BACK).
 *
 * Neither trusts the other: the gateway judges each connection and each request anew, and ends TLS
 * itself on both sides; the edge opens nothing that the rules do not allow. The end of either line
 * ends both programs.
 */
enum edge_first {
	EDGE_PROXY, /* a request of HTTP to the proxy or an endpoint: it names its target itself */
	EDGE_HTTP,  /* plain HTTP, to a target that is decided */
	EDGE_TLS,   /* a ClientHello for that target, which is inspected */
	EDGE_FIRST_N,
};

#define EDGE_BYTES_MAX (96 * KiB)

struct edge_conn_frame {
	enum edge_first first;
	enum gw_verb verb;
	enum gw_listen_kind kind; /* of the listener, its port, and its place in the edge's list */
	uint16_t listen_port, row;
	const char *host; /* "" for EDGE_PROXY */
	uint16_t port;
	const char *bytes;
	size_t n_bytes;
};

struct edge_dial_frame {
	const char *host;
	uint16_t port;
	bool plain; /* HTTP without TLS: the host may have another proxy for it */
	bool route; /* for a route of the configuration, which needs no rule */
};

struct edge_dialled_frame {
	unsigned int
		status; /* 0: the descriptor is the connection; else as an HTTP answer says it */
	enum gw_verdict verdict;
	bool final; /* trying again would not help */
	const char *reason, *remedy, *rule;
};

/* Writing a body; the buffer was made with WIRE_BODY_MAX. */
void edge_put_conn(struct buf *b, const struct edge_conn_frame *f); /* EDGE_BACK has it too */
void edge_put_dial(struct buf *b, const struct edge_dial_frame *f);
void edge_put_dialled(struct buf *b, const struct edge_dialled_frame *f);

/* Reading a whole body with its descriptor: 0 or -EPROTO. Texts and bytes point into the message. */
int edge_get_conn(const struct wire_msg *m, struct edge_conn_frame *ret);
int edge_get_dial(const struct wire_msg *m, struct edge_dial_frame *ret);
int edge_get_dialled(const struct wire_msg *m, struct edge_dialled_frame *ret);
