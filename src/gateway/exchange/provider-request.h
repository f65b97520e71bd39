#pragma once

#include "gateway/exchange/exchange.h"

/*
 * Requests with a provider's credential: which of the provider's own tools they may use, and what
 * they may cost. The body is read as it passes; with a budget it is read to its end first, and the
 * supervisor reserves the most that the request can use.
 */

/* Readies c's guard for that. h: the request's head. NULL, or why the request is refused; the text is
 * the caller's. */
char *provider_prepare(struct conn *c, const struct http1_head *h);
/* Asks for the budget, with the body read; c goes on with inject_granted(), or is refused. */
void provider_spend(struct conn *c);
/* The budget has an answer for a request that is over. */
void provider_release(struct gw *gw, const struct wire_msg *m);
