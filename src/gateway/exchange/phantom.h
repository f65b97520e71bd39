#pragma once

#include "flow/conn.h"

/*
 * Phantoms: the tokens that a sandbox sends in place of credentials, and the fields that it must
 * not send with them.
 *
 * A phantom is accepted in the fields where clients put keys, at its own route or at a host whose
 * rule names its credential. Anywhere else in a head, in any of the forms of base/text/needles.h,
 * it is refused: it is worth nothing there, but somebody is trying. Bodies are left alone.
 */

/* Called at the start: collects the phantoms to look for. */
void phantoms_init(struct gw *gw);

/* Looks for the route's phantom in the fields where clients put keys; in constant time. */
bool phantom_in_fields(const struct gw_route *r, const struct http1_head *h);
/* Compares a whole text with the route's phantom; in constant time. */
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
/* Does phantom_strip() take a field of this name away? */
bool phantom_strips(struct slice name);
/* The query without its parameters that are keys ("key=…", "access_token=…"), appended with its
 * '?' to b. */
void phantom_strip_query(struct buf *b, struct slice query);
/* A rule's host: what is a token by its name alone goes from the target's query. */
void phantom_strip_tokens(char **target);
