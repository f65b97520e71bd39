#pragma once

#include "gateway/exchange/exchange.h"

/*
 * Requests with a provider's credential. What they ask for, what they may cost and what their answers
 * have used is read by the reader, a program without credentials (wire/reader-proto.h): the request
 * is read to its end first and sent only when the reader agrees, and the answer is handed over when it
 * is complete.
 */

/* Readies c's guard for that. NULL, or why the request is refused. */
const char *provider_prepare(struct conn *c);
/* Asks the reader about c's request, whose body is in the guard; c goes on with inject_granted(), or is
 * refused. */
void provider_ask(struct conn *c);
/* The reader has an answer for a request that is over. */
void provider_release(struct gw *gw, const struct wire_msg *m);
/*
 * Tells the supervisor when a provider begins or ceases to be unavailable, before the sandbox sees the
 * answer. Every error would be too much: code inside could fill the queue with them.
 */
void provider_status(struct conn *c);
/* Hands the answer to the reader, if it is a provider's. */
void provider_report(struct conn *c);
