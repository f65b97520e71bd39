#pragma once

#include "gateway/exchange/exchange.h"

/* Target and exchange are set: decides the request, and sends it on or refuses it. h is the head
 * in c->in, head_len its length there. */
void http_decide(struct conn *c, const struct http1_head *h, size_t head_len);
/* The request of head h with what was given for it; head_len: how much of c->in that head still is,
 * 0 when it has been taken from there. */
void http_send(struct conn *c, struct http1_head *h, size_t head_len,
	       const struct gw_header *header);
