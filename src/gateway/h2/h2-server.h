#pragma once

#include "gateway/gateway-conn.h"
#include "gateway/h2/h2.h"

/* c's client speaks HTTP/2, from the bytes in c->in on. */
void conn_start_h2(struct conn *c);
/* Do c's first bytes begin HTTP/2 without TLS? */
bool conn_is_preface(const struct conn *c);
/* Is c a stream whose request is gRPC's? */
bool conn_is_grpc(const struct conn *c);

/* The row of CONN_H2, and c's end. */
void conn_on_h2(struct conn *c);
void conn_h2_late(struct conn *c);
uint32_t conn_h2_limit(const struct conn *c);
void conn_h2_end(struct conn *c);
