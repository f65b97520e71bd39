#pragma once

#include "gateway/exchange/exchange.h"

/* Requests to the proxy port itself: /_ralph/health and the reverse endpoints of providers. */
void route_request(struct conn *c, const struct http1_head *h, size_t head_len);
/* What is known of the cost of c's request to its target, which has the credential of that route. */
enum request_kind route_kind(const struct conn *c, const struct gw_route *r);
/* The host and port of a route's URL; false: it is no URL. */
bool route_origin(const char *url, struct host *ret, uint16_t *ret_port);
/* Does any route send a credential to this host? */
bool route_has_credential(const struct gw *gw, const struct host *h);
/* The route whose trust counts for c's server: it leads there, with this credential unless NULL. */
const struct gw_route *route_trust(const struct conn *c, const char *credential);
/* Is this path one of those? */
bool route_has(struct slice path);
/* The same on a listener that anybody on the host can reach: without a phantom, one refusal. */
void route_endpoint(struct conn *c, const struct http1_head *h, size_t head_len);
