#pragma once

#include "http/url.h"
#include "policy/host.h"

/*
 * Where a route leads: an https URL, or, on a node, plain HTTP to the end of the node's tunnel to home, which is on
 * this machine's loopback.
 */
bool route_url_parse(const char *text, struct url *ret, struct host *ret_host);
