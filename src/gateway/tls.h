#pragma once

#include "flow/gw.h"
#include "flow/stream.h"

/*
 * TLS on both sides. Nothing of OpenSSL is set up before the first connection that needs it: a
 * context costs milliseconds. Trust comes from the hashed directory, whose certificates are read
 * as chains ask for them; a bundle file only where there is no such directory.
 */
struct leaf; /* certificate and key of one inspected host, from the supervisor */

/* Everything that files are needed for, where they will be out of reach afterwards. */
int tls_preload(struct gw *gw, struct err *err);
/* The trust of routes that have their own; before files are out of reach. One that cannot be read
 * leaves its route without TLS. */
int tls_load_routes(struct gw *gw, struct err *err);

const struct leaf *tls_leaf_find(struct gw *gw, const char *host);
/* From a GW_LEAF_IS frame; NULL when it is empty or unusable. */
const struct leaf *tls_leaf_add(struct gw *gw, const char *host, const struct wire_msg *m);

/* Puts TLS over a plain stream; `ahead` (taken) holds bytes that were read from it before. */
int tls_server(struct gw *gw, struct stream *s, const struct leaf *leaf, struct buf *ahead);
/* As a client: SNI and the certificate's name are `host`. route: NULL, or the one whose own trust
 * counts, where it has one. */
int tls_client(struct gw *gw, struct stream *s, const char *host, bool literal,
	       const struct gw_route *route);
/* Before the handshake: the server is offered HTTP/2 beside HTTP/1.1. */
int tls_offer_h2(struct stream *s);
/* After it: HTTP/2 was agreed on. */
bool tls_is_h2(const struct stream *s);
/* After -EINPROGRESS: the protocol for a client that offers both. */
void tls_choose(struct stream *s, bool h2);
/* -EINPROGRESS: the client offers HTTP/2 and HTTP/1.1, and tls_choose() has to say which.
 * 0: done; -EAGAIN: read_wants_out or write_wants_in say for what; -EPROTO: failed. */
int tls_handshake(struct stream *s);
/* Why a handshake with a server failed, for people. */
const char *tls_failure(struct stream *s);
