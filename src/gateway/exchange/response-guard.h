#pragma once

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
enum guard_frames { FRAMES_NONE, FRAMES_GRPC, FRAMES_AWS };

struct response_guard {
	const struct gw *gw;
	const struct gw_route
		*route; /* NULL: a rule of an inspected host asks for the credential */
	const struct gw_route *provider; /* whose credential it is; NULL: no provider's */
	bool carries;			 /* the request has a credential */
	bool to_read;			 /* the reader has to see it before it is sent */
	uint32_t reservation;		 /* its tokens are reserved, with this question; 0: not, */
	uint32_t turn;			 /* and this is the reader that has it */
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
	enum guard_frames frames;	 /* the answer is these: */
	uint8_t frame_head;		 /* bytes of a frame's head that have come, */
	uint32_t frame_left;		 /* and how many of it are to come */
	struct scrub scrub;
	/* A provider's answer as the client gets it, for the reader. */
	struct buf answer_head;
	struct spool answer;
	bool unread; /* there was no room for it */
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
