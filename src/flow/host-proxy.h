#pragma once

#include "flow/gw.h"
#include "policy/host.h"

/*
 * The proxy the host itself has to use (HTTPS_PROXY, HTTP_PROXY, NO_PROXY of its environment).
 *
 * Behind it the gateway decides by name alone: the proxy resolves, so which address it dials can
 * be neither checked nor chosen here. The name is sent only after policy allowed it. Literals and
 * host services never go there.
 */
struct host_proxy {
	bool set;
	struct host host;
	uint16_t port;
	char *auth; /* "Basic …", or NULL */
};

struct host_proxies {
	struct host_proxy http, https;
	struct strv direct; /* NO_PROXY */
};

struct host_proxies *host_proxies_new(const struct gw_config *c, struct err *err);
struct host_proxies *host_proxies_free(struct host_proxies *c);
/* The proxy for this target, or NULL: dial it directly. */
const struct host_proxy *host_proxy_for(const struct host_proxies *c, const struct host *h,
					uint16_t port, bool plain_http);
