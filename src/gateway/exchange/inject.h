#pragma once

#include "gateway/exchange/exchange.h"

/*
 * Credentials: asked of the credential helper for one allowed request to the credential's own
 * origin, and set on it. The gateway uses what it was given only as long as it was told to,
 * HEADER_KEEP_MS at most; the secrets in it are known longer, to be found in answers.
 *
 *	head → credential → lookup …                     a bearer token
 *	head → credential → body → credential → lookup … the body is signed
 *	… exchange → credential → lookup …               401: once more, with what is newer
 */

/* The name of a credential as the one pointer that all exchanges have for it. */
const char *inject_name(struct gw *gw, const char *credential);
/* For c's request to its target: its head of head_len bytes is the one in gw->head. route: NULL
 * for a rule's credential. */
void inject_start(struct conn *c, const struct gw_route *route, size_t head_len);
/* The server has said 401: true when c went on to ask for something newer. */
bool inject_again(struct conn *c);
/* The reader has found nothing against c's request, and the most that it can cost is reserved. */
void inject_granted(struct conn *c);
/* The step of CONN_BODY. */
void conn_on_body(struct conn *c);
/* Forgets everything: the policy changed, or the gateway ends. */
void inject_forget(struct gw *gw);
