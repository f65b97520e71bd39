#pragma once

#include "gateway/conn.h"

/*
 * What a sandbox sends in place of a credential, and what it must not send with one.
 *
 * A phantom is accepted in the fields where clients put keys, at its own route or at a host whose
 * rule names its credential. Anywhere else in a head, in any of the forms of needles.h, it is
 * refused: it is worth nothing there, but somebody is trying. Bodies are left alone.
 */

/* At the start: what is to be looked for. */
void phantoms_init(struct gw *gw);

/* The route's phantom in a field where clients put keys; in constant time. */
bool phantom_in_fields(const struct gw_route *r, const struct http1_head *h);
/* The same of a text that is nothing else. */
bool phantom_is(const struct gw_route *r, struct slice text);

/* Does the head hold a phantom where none may be? credential: what will be set, NULL: nothing. */
bool phantom_astray(struct conn *c, const struct http1_head *h, const char *credential);
/* Makes it unreadable, for the log. */
void phantom_hide(const struct gw *gw, char *text);

/*
 * Takes from a request whatever could be a credential beside the one that will be set, and what
 * would make its answer impossible to search: an encoding, a part of it.
 */
void phantom_strip(struct http1_head *h);
/* The query without its parameters that are keys ("key=…", "access_token=…"), appended with its
 * '?' to b. */
void phantom_strip_query(struct buf *b, struct slice query);
