#pragma once

#include "policy/policy.h"
#include "wire/gateway-proto.h"

/*
 * Which sockets a sandbox's guest has to open for its gateway, by policy alone. Pure: the same
 * policy gives the same rows, stand-in addresses included, so what the audit shows is what is made.
 *
 *	proxy      127.0.0.1:3128, [::1]:3128
 *	DNS        127.0.0.53:53, udp and tcp
 *	transparent on all addresses: 80, 443, and every port below 1024 that an allow rule names
 *	           (inet and full: 22 too). Nothing inside can bind those, so nothing is taken away.
 *	stand-ins  a port from 1024 up that a rule names for a whole host name: on that name's
 *	           stand-in address alone, or a server inside could not take the port on all
 *	           addresses. Wildcards and ranges with such a port work through the proxy only.
 *	services   127.0.0.1:PORT and [::1]:PORT for localhost:PORT from 1024 up; below, the
 *	           transparent port serves it
 *
 * Tier none has no rows. Rows for IPv6 are marked optional. The port of a service must not be one
 * of the gateway's own: -EINVAL. More than GW_LISTENERS_MAX rows: -E2BIG.
 */
#define NET_PROXY_PORT 3128
#define NET_DNS_ADDR "127.0.0.53"

int net_listeners(const struct policy *p, struct gw_listener **ret, size_t *ret_n, struct err *err);
