#pragma once

#include "flow/gw.h"

/*
 * Connections of a sandbox on another machine, which its outpost passes on to a port of this one
 * (wire/remote.h). A client that does not begin with the sandbox's token gets a 407, in whatever
 * protocol it speaks, and that is an event. A client with the token is served as if the row's own
 * listener had accepted it. Takes fd.
 */
void outpost_accept(struct gw *gw, int fd);
