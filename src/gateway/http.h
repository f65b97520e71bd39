#pragma once

#include "gateway/exchange.h"

/* Target and exchange are set: decides the request, and sends it on or refuses it. h is the head
 * in c->in, head_len its length there. */
void http_decide(struct conn *c, const struct http1_head *h, size_t head_len);
/* The credential for the request at the front of c->in has come; NULL: there is none. head_len: its
 * head still is the one in gw->head; 0: it has to be read again. */
void http_credential(struct conn *c, const struct gw_header *header, ssize_t head_len);
