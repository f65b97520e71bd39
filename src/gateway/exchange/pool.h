#pragma once

#include "flow/gw.h"
#include "flow/stream.h"
#include "policy/host.h"

/* Servers' connections that wait for another request: by host, port, TLS and credential. */
struct pool_key {
	const struct host *host;
	uint16_t port;
	bool tls;
	const char *credential; /* no request with another, or with none, uses it */
};

struct pool *pool_new(struct gw *gw);
/* Takes the stream; the oldest goes when there are too many. */
void pool_put(struct gw *gw, struct stream *s, const struct pool_key *k);
/* The one used last, into *s with event function fn; false: none. */
bool pool_get(struct gw *gw, const struct pool_key *k, struct stream *s, ev_io_fn *fn);
/* The policy changed: what was allowed may not be. */
void pool_clear(struct gw *gw);
