#pragma once

/*
 * Names and servers
 *
 * From a name that policy allows to a connected socket: resolving, stand-in addresses, dialling,
 * the host's own proxy. No request's content enters.
 */

#include "flow/gw.h"
#include "policy/addr.h"

/*
 * Connects to the first of several checked addresses that answers (RFC 8305): families take
 * turns, the next address starts DIAL_STAGGER_MS after the last one or as soon as one failed.
 */
struct dial;
/*
 * io holds the connection (non-blocking), is NULL with the last error, and never comes from within
 * dial_start(). The callee takes it with ev_move() before it returns; the interest is that of
 * STREAM_EDGES, and `events` came with the connection.
 */
typedef void dial_fn(void *arg, struct ev_io *io, uint32_t events, int error);

struct dial *dial_start(struct gw *gw, const struct ip *addrs, size_t n, uint16_t port, dial_fn *fn,
			void *arg);
/* fn will not be called; NULL is fine. Returns NULL. */
struct dial *dial_cancel(struct dial *d);
/* Puts the families in turn, the first one's first; stable otherwise. */
void dial_order(struct ip *addrs, size_t n);
