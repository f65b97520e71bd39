#pragma once

#include "gateway/chunked.h"
#include "gateway/conn.h"

/* One body on its way: read by its framing, written with the same one. */
struct body {
	enum http1_body kind;
	uint64_t left;
	struct chunked chunked;
	bool trailers; /* the last chunk has been written, its trailers follow */
	bool unframe;  /* to a client of HTTP/1.0, which knows no chunks */
	bool done;
};

/* One request and its answer. */
struct exchange {
	char method[HTTP1_METHOD_MAX + 1];
	char *path; /* for the log: as sent, cut */
	enum http1_to to;
	struct body request, response;
	bool old_client;   /* HTTP/1.0 */
	bool client_keeps; /* the client lets its connection live */
	bool upgrade;	   /* a WebSocket was asked for */
	bool cut;	   /* the server no longer takes the request */
	bool answered;	   /* a head of the server's, or of ours, has been queued for the client */
	bool quiet;	   /* its event has been sent */
	bool head_done;	   /* the final response head has been read */
	bool server_keeps;
	unsigned int status;
	struct buf again; /* the head, to send it anew when a pooled connection was dead */
	char *credential;
	char *target; /* what is sent, where it differs from what was received */
};

struct exchange *exchange_new(const struct http1_head *h);
void exchange_free(struct exchange *x);
/* Over, one way or the other: its event and its memory. */
void exchange_end(struct conn *c);

/* What the event of a connection says about its exchange; nothing without one. */
void exchange_describe(const struct conn *c, struct gw_event *e);
void exchange_status(struct conn *c, unsigned int status);
void exchange_quiet(struct conn *c);
bool exchange_answered(const struct conn *c);
bool exchange_is_head(const struct conn *c);
