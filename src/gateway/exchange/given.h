#pragma once

#include "flow/gw.h"

/*
 * The secrets that the gateway was given, of all credentials: gw->secrets, which answers are searched
 * for. A value stays after it was replaced, because a server may show what it was sent before.
 */
void given_add(struct gw *gw, const char *credential, const struct strv *secrets);
