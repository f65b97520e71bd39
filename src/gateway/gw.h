#pragma once

/*
 * ROOM: gateway
 *
 * The only way from a sandbox to the network: listeners, names, connections, injection,
 * metering. It has no file and no lasting credential; it asks for the header of one request.
 */

#include "base/ev.h"
#include "base/strv.h"
#include "http/http1.h"
#include "gateway/gateway-limits.h"
#include "wire/gateway-proto.h"

#include <netinet/in.h>

struct ask;
struct conn;
struct host_proxies;
struct events;
struct given;
struct injected;
struct listener;
struct needles;
struct names;
struct policy;
struct pool;
struct resolver;
struct tls;

union sockaddr_any {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/*
 * The state that the parts of this one process share. Each part owns the pointer that bears its
 * name.
 */
struct gw {
	struct ev *ev;
	struct gw_config *config;
	struct policy *policy;
	int sock; /* to the supervisor */
	struct ev_io sock_io;
	int cred;      /* to the credential helper; -1: no line */
	bool has_cred; /* there was one: without any, the sandbox has no credential */
	struct ev_io cred_io;
	struct ask *asks; /* questions that are not answered */
	struct events *events;
	struct names *names;
	struct resolver *resolver;
	struct listener *listeners;
	size_t n_listeners;
	size_t max_conns; /* MAX_CONNS, or what RLIMIT_NOFILE leaves */
	size_t max_fd;	  /* no more is accepted from this descriptor on */
	size_t arrivals;  /* on the host's port, see outpost-port.h */
	bool accepting;
	struct conn *conns; /* all of them, doubly linked */
	uint32_t last_id;   /* of flows and questions */
	struct pool *pool;
	struct injected *injected; /* headers that may be used again */
	struct strv credentials;   /* names, see inject_name() */
	struct given *given;
	struct needles *secrets;	   /* see given.h; NULL: none */
	struct needles *phantoms;	   /* NULL: none */
	size_t spooled;			   /* bytes of bodies that are kept */
	struct host_proxies *host_proxies; /* the host's proxy */
	struct tls *tls;
	struct gw_health health;
	bool provider_down;	  /* as it was last reported, see response_guard_report() */
	int pipes[PIPES_IDLE][2]; /* empty ones */
	size_t n_pipes, pipes_used;
	/* Room for one read and one parse: nothing in here outlives a callback. */
	struct http1_head head;
	char scratch[SCRATCH];
};

/* The supervisor has gone or the gateway cannot go on: leave the loop. */
void gw_quit(struct gw *gw);
