#pragma once

#include "web/web-route.h"

/* The name of a thing for the browser, which gets no paths and no text of agents to send back: the
 * beginning of a hash of its text. Pure. */
void web_key(const char *text, char ret[ROUTE_KEY_LEN + 1]);
