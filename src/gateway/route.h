#pragma once

#include "gateway/exchange.h"

/* Requests to the proxy port itself: /_ralph/health and the reverse endpoints of providers. */
void route_request(struct conn *c, const struct http1_head *h, size_t head_len);
/* Is this path one of those? */
bool route_has(struct slice path);
