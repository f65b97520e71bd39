#pragma once

/*
 * ROOM: gateway/reach
 *
 * From a name that policy allows to a connected socket: resolving, stand-in addresses, dialling,
 * the host's own proxy. No request's content enters.
 */

#include "gateway/gw.h"
#include "policy/addr.h"

/*
 * Connects to the first of several checked addresses that answers (RFC 8305): families take
 * turns, the next address starts DIAL_STAGGER_MS after the last one or as soon as one failed.
 */
struct dial;
/*
 * fd is the callee's (non-blocking), or -1 with the last error. Never called from dial_start().
 * The fd is still known to the loop, with the interest DIALLED_WANT, and silent until the callee
 * changes that: one system call instead of two.
 */
#define DIALLED_WANT (EPOLLOUT | EPOLLONESHOT)
typedef void dial_fn(void *arg, int fd, int error);

struct dial *dial_start(struct gw *gw, const struct ip *addrs, size_t n, uint16_t port, dial_fn *fn,
			void *arg);
/* fn will not be called; NULL is fine. Returns NULL. */
struct dial *dial_cancel(struct dial *d);
/* Puts the families in turn, the first one's first; stable otherwise. */
void dial_order(struct ip *addrs, size_t n);
