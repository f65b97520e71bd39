#pragma once

#include "gateway/exchange.h"

/*
 * Credentials: asked of the supervisor for one allowed request to the credential's own origin, and
 * set on it. The gateway holds what it was given only as long as it was told to, HEADER_KEEP_MS at
 * most, and wipes it then.
 */

/* For c's request, whose head of head_len bytes is the one in gw->head; goes on in
 * http_credential(). */
void inject_ask(struct conn *c, size_t head_len);
/* Forgets everything: the policy changed, or the gateway ends. */
void inject_forget(struct gw *gw);
