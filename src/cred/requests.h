#pragma once

#include "cred/cred.h"

/*
 * Lists the requests allowed with this credential, as a route takes them ("METHOD PREFIX [URL]"):
 * the rows of its provider with {NAME} replaced by that option of the reference. A row with a
 * missing option is left out. If the user set the origin, it stands for every host of the provider:
 * then a row's own URL is left out.
 */
void cred_requests(const struct cred_ref *r, bool own_origin, struct strv *ret);

/* Returns the text with {NAME} replaced; NULL when there is no such option. */
char *cred_expand(const char *text, const struct strv *options);
