#pragma once

/*
 * ROOM: flow
 *
 * The parts that edge and gateway share: streams, a connection's states and deadlines, events, refusals,
 * the conversation with the supervisor. No code here opens a connection, ends TLS or knows a credential.
 */

#include "base/ev.h"
#include "base/strv.h"
#include "http/http1.h"
#include "flow/gateway-limits.h"
#include "wire/gateway-proto.h"

#include <netinet/in.h>

struct ask;
struct conn;
struct edge;
struct events;
struct given;
struct h2_ups;
struct host_proxies;
struct injected;
struct late;
struct needles;
struct policy;
struct pool;
struct program;
struct tls;

union sockaddr_any {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/*
 * The state of one process, edge or gateway. Each part owns the pointer that bears its name.
 */
struct gw {
	const struct program *program;
	struct ev *ev;
	struct gw_config *config;
	struct policy *policy;
	int sock; /* to the supervisor */
	struct ev_io sock_io;
	struct events *events;
	size_t max_conns;		   /* MAX_CONNS, or what RLIMIT_NOFILE leaves */
	size_t max_fd;			   /* no more is taken from this descriptor on */
	struct conn *conns;		   /* all of them, doubly linked */
	uint32_t last_id;		   /* of flows and questions */
	struct host_proxies *host_proxies; /* the host's proxy */
	struct gw_health health;
	bool provider_down; /* as it was last reported, see provider_status() */

	/* The edge's own; NULL in the gateway. */
	struct edge *edge;

	/* The gateway's own; not set in the edge. */
	struct ev_io arrivals; /* connections that the edge hands over */
	int dials;	       /* the line to the edge */
	struct ev_io dials_io;
	struct ev_io cred; /* to the credential helper; fd -1: no line */
	bool has_cred;	   /* there was one: without any, the sandbox has no credential */
	struct ev_io reader;
	uint32_t reader_turn; /* lines to a reader that there have been */
	struct late *late;    /* frames for it that wait, oldest first */
	size_t late_bytes;
	struct ask *asks; /* questions that are not answered */
	struct pool *pool;
	struct h2_ups *h2_ups;	   /* connections to servers that speak HTTP/2 */
	struct injected *injected; /* headers that may be used again */
	struct strv credentials;   /* names, see inject_name() */
	struct given *given;
	struct needles *secrets;  /* see gateway/exchange/given.h; NULL: none */
	struct needles *phantoms; /* NULL: none */
	size_t spooled;		  /* bytes of requests' bodies that are kept */
	size_t answers;		  /* and of answers' */
	struct tls *tls;

	/* Room for one read and one parse: nothing in here outlives a callback. */
	struct http1_head head;
	char scratch[SCRATCH];
};

/* The supervisor has gone or the process cannot go on: leave the loop. */
void gw_quit(struct gw *gw);
/* As many connections as descriptors allow, some of them being kept for the servers' side. */
void gw_set_max_conns(struct gw *gw);
