#pragma once

#include "gateway/parse/meter.h"
#include "gateway/parse/outline.h"
#include "gateway/parse/scrub.h"
#include "gateway/exchange/spool.h"

#include "base/buf.h"
#include "http/http1.h"
#include "wire/gateway-proto.h"

struct conn;
struct gw;

/*
 * The additional state of an exchange with a host that a rule or a route gives a credential. The
 * answer is searched for every secret that the gateway was given, since a host may show what it was
 * sent earlier, and a provider's answer also for its usage. A request with a credential can be
 * written again with another header. Exchanges with other hosts have none of this.
 */
struct response_guard {
	const struct gw *gw;
	const struct gw_route
		*route; /* NULL: a rule of an inspected host asks for the credential */
	const struct gw_route *provider; /* whose credential it is; NULL: no provider's */
	struct outline *outline;	 /* of its body; NULL: nobody has to read it */
	bool carries;			 /* the request has a credential */
	bool metered;			 /* its tokens are reserved before it is sent, */
	uint32_t reservation;		 /* and are by now, with this question; 0: not yet */
	const struct gw_route *trust;	 /* the route whose certificates count; NULL: all */
	struct buf head;		 /* of the request, as it came, */
	char *content_type;		 /* and what it says of its body, or NULL */
	struct spool body;		 /* its payload, as far as it is kept */
	bool whole;			 /* all of the payload is there */
	bool replay;			 /* it is sent from the kept copy, */
	size_t sent;			 /* so far this much of it */
	bool digested;			 /* the supervisor was told its digest */
	bool rejected;			 /* the server has said 401 once, */
	bool newer;			 /* a newer credential was there already */
	uint32_t given;			 /* which secrets the request was sent with */
	bool grpc;			 /* the answer is messages of gRPC: */
	uint8_t grpc_head;		 /* bytes of a message's head that have come, */
	uint32_t grpc_left;		 /* and how many of it are to come */
	struct scrub scrub;
	struct meter *meter; /* NULL: the answer is no provider's, or tells nothing */
	struct buf limits;   /* rate limits it tells: lines of "name: value" */
};

struct response_guard *response_guard_new(struct gw *gw, const struct gw_route *route);
void response_guard_free(struct response_guard *g);

/*
 * Guards the answer's head, whose bytes are p: takes secrets out, drops cookies, and notes a
 * provider's rate limits. Returns NULL, or why the answer cannot be passed on.
 */
const char *response_guard_head(struct response_guard *g, char *p, size_t n, struct http1_head *h);
void response_guard_text(struct response_guard *g, char *p, size_t n);
/* A piece of the answer's payload, changed in place: into out, in a chunk or as it is. */
int response_guard_put(struct response_guard *g, char *p, size_t n, bool last, bool chunk,
		       struct buf *out);
/* The same, but what may go of p itself is left for the caller to send. */
struct slice response_guard_pass(struct response_guard *g, char *p, size_t n, bool last,
				 struct buf *out);

/* The next piece of a body that is sent again, into out: bytes, 0 at its end, or -errno. */
ssize_t response_guard_replay(struct response_guard *g, struct buf *out);

/* The model that a path names, "" for none. */
void response_guard_model(const char *path, char *ret, size_t size);
/*
 * Tells the supervisor when a provider begins or ceases to be unavailable, before the sandbox sees the
 * answer. Every error would be too much: code inside could fill the queue with them, and reports of
 * usage would be lost.
 */
void response_guard_status(struct conn *c);
/* Tells the supervisor what the answer has used, if it is a provider's. */
void response_guard_report(struct conn *c);
