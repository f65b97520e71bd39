#pragma once

#include "gateway/exchange/exchange.h"

/*
 * What the agent asks a person for, as requests to the proxy port itself. The answer is the supervisor's.
 *
 *	POST /_ralph/asks               {"kind", "what", "why", "choices"}
 *	GET  /_ralph/asks/ID[?wait=S]
 *	GET  /_ralph/refused[?since=N]  what was refused after number N, for the hook
 */

/* true: it is such a request, and is taken care of. */
bool asks_request(struct conn *c, const struct http1_head *h, size_t head_len);
void conn_on_asks(struct conn *c);
