#pragma once

#include "gateway/gateway-conn.h"

/*
 * Servers' connections of HTTP/2, for streams of clients that speak it. One belongs to a host, a
 * port, the trust that it was verified with, and the first credential that was sent over it: no
 * request with another one, or with none, uses it.
 *
 * A connection is dialled to learn what the server speaks: by ALPN, or without TLS by its answer to
 * the preface of HTTP/2. The answer is kept for H2_ORIGIN_MS.
 */

/* For c, a stream: true when it goes over HTTP/2, or waits for a server that may speak it. */
bool h2_up_open(struct conn *c);
/*
 * Says what the server of c's target speaks, for a client that would speak either. 1: HTTP/2, 0:
 * HTTP/1.1, -EAGAIN: c waits in CONN_OFFER and conn_offered() is called.
 */
int h2_up_speaks(struct conn *c);
/* The same for what is known by now; without anything, HTTP/1.1. */
int h2_up_known(struct conn *c);
/* c no longer waits. */
void h2_up_forget(struct conn *c);
/* The policy changed: no new streams over the connections of now. */
void h2_ups_clear(struct gw *gw);
