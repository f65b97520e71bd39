#pragma once

#include "gateway/parse/meter.h"
#include "gateway/parse/outline.h"
#include "gateway/parse/scrub.h"
#include "gateway/exchange/spool.h"

#include "base/buf.h"
#include "http/http1.h"
#include "wire/gateway-proto.h"

struct conn;
struct decode;

/*
 * The additional state of a request with a credential. The request can be written again with
 * another header. Its answer is searched for the secrets that were sent, and a provider's answer
 * also for its usage. An exchange without a credential has none of this and pays for none.
 */
struct response_guard {
	const struct gw_route
		*route; /* NULL: a rule of an inspected host asks for the credential */
	const struct gw_route *provider; /* whose credential it is; NULL: no provider's */
	struct outline *outline;	 /* of its body; NULL: nobody has to read it */
	bool metered;			 /* its tokens are reserved before it is sent, */
	uint32_t reservation;		 /* and are by now, with this question; 0: not yet */
	const struct gw_route *trust;	 /* the route whose certificates count; NULL: all */
	struct buf head;		 /* of the request, as it came */
	struct spool body;		 /* its payload, as far as it is kept */
	bool whole;			 /* all of the payload is there */
	bool replay;			 /* it is sent from the kept copy, */
	size_t sent;			 /* so far this much of it */
	bool digested;			 /* the supervisor was told its digest */
	bool rejected;			 /* the server has said 401 once, */
	bool newer;			 /* a newer credential was there already */
	uint32_t given;			 /* which secrets the request was sent with */
	struct scrub scrub;
	struct meter *meter;   /* NULL: the answer is no provider's, or tells nothing */
	struct decode *decode; /* a compressed one */
	struct buf limits;     /* rate limits it tells: lines of "name: value" */
};

struct response_guard *response_guard_new(const struct gw_route *route, size_t *spooled);
void response_guard_free(struct response_guard *g);
/* Sets the secrets that must not come back in the answer. */
void response_guard_watch(struct response_guard *g, struct needles *secrets);

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
/* Tells the supervisor what the answer has used, if it is a provider's. */
void response_guard_report(struct conn *c);
