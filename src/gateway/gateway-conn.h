#pragma once

/*
 * ROOM: gateway
 *
 * The inner half of a sandbox's network: everything that is HTTP, the end of TLS, injection, metering.
 * The only program that gets credential values over the network's side, and it opens no connection
 * itself: the edge does, and hands over those that are to be read.
 */

#include "flow/conn.h"

extern const struct program gateway_program;

/* Takes the connections that the edge hands over, as long as there is room for more. */
int arrivals_attach(struct gw *gw, struct err *err);

/* inspect.c: the end of the client's TLS, whose ClientHello is in c->in. */
void conn_start_tls(struct conn *c);
void conn_on_accept(struct conn *c);
/* It is known what the server speaks, or is no longer waited for: the handshake goes on. */
void conn_offered(struct conn *c);

/* http-judge.c */
void conn_on_head(struct conn *c);

/* upstream.c */
void conn_open_upstream(struct conn *c);
void conn_on_secure(struct conn *c);
/* The server's side is given to the pool if it may be used again, else closed. */
void conn_drop_upstream(struct conn *c);

/* exchange.c */
void conn_on_exchange(struct conn *c);
void conn_start_exchange(struct conn *c);

/* upgrade.c: both sides have left HTTP, and bytes pass either way. */
void conn_start_upgrade(struct conn *c);
void conn_on_upgrade(struct conn *c);
void conn_upgrade_late(struct conn *c);
uint32_t conn_upgrade_limit(const struct conn *c);
void conn_upgrade_end(struct conn *c);

/* Sends an answer of our own. */
void answer_json(struct conn *c, unsigned int status, const char *json);
