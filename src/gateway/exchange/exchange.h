#pragma once

/*
 * ROOM: gateway/exchange
 *
 * One request and its answer: judged, given a credential, sent, watched. Opening connections is
 * the edge's.
 */

#include "gateway/exchange/body.h"
#include "gateway/gateway-conn.h"
#include "policy/request-row.h"

/*
 * One request and its answer. The bytes between us and the server are the exchange's own and go with
 * it, so that the next request can neither find nor follow them. The server's connection is lent to
 * it: only a connection on which request and answer are both complete is given on.
 */
struct exchange {
	char method[HTTP1_METHOD_MAX + 1];
	char *path; /* for the log: as sent, cut */
	enum http1_to to;
	struct body request, response;
	bool old_client;   /* HTTP/1.0 */
	bool client_keeps; /* the client lets its connection live */
	bool upgrade;	   /* a WebSocket was asked for */
	bool half_closed;  /* the client sends nothing more, and reads */
	bool cut;	   /* the server no longer takes the request */
	bool answered;	   /* a head of the server's, or of ours, has been queued for the client */
	bool quiet;	   /* the event has been sent */
	bool head_done;	   /* the final response head has been read */
	bool server_keeps;
	unsigned int status;
	struct buf head;    /* the request's, as it is sent; kept to be sent again */
	size_t head_sent;   /* of it, over the connection of now */
	struct buf out, in; /* of the body, not yet taken; of the answer, not yet understood */
	size_t scanned, line_start;   /* of the answer's head */
	const char *credential;	      /* see inject_name() */
	int rule;		      /* index of the rule that named it; without one, of no use */
	struct response_guard *guard; /* of a request with a credential, once that is asked for */
	bool provider;		      /* the request goes to a provider's endpoint */
	enum request_kind kind;	      /* of a provider's */
	char *target;		      /* sent instead of the received one; NULL: the same */
};

struct exchange *exchange_new(const struct http1_head *h);
void exchange_free(struct exchange *x);
/* Over, one way or the other: its event and its memory. */
void exchange_end(struct conn *c);
/* The request will be sent from its beginning, over another connection. */
void exchange_rewind(struct conn *c);

/* Adds the exchange of a connection to its event; adds nothing if there is none. */
void exchange_describe(const struct conn *c, struct gw_event *e);
void exchange_status(struct conn *c, unsigned int status);
void exchange_quiet(struct conn *c);
bool exchange_answered(const struct conn *c);
bool exchange_is_head(const struct conn *c);
/* All of the request is with the server. */
bool exchange_is_sent(const struct exchange *x);
bool exchange_is_provider(const struct conn *c);
/* The name of its endpoint; "": not known. */
const char *exchange_provider(const struct conn *c);
/* Returns the route that the request takes instead of what policy allows, or NULL. */
const struct gw_route *exchange_route(const struct conn *c);
/* The one whose trust counts for its server, or NULL. */
const struct gw_route *exchange_trust(const struct conn *c);
