#include "flow/route-url.h"

#include <string.h>

#include "policy/addr.h"

bool route_url_parse(const char *text, struct url *ret, struct host *ret_host)
{
	struct err ignored;

	if (!text || url_parse(text, strlen(text), ret) < 0 ||
	    host_parse(ret->authority.host.p, ret->authority.host.n, ret_host, &ignored) < 0)
		return false;
	return ret->scheme == URL_HTTPS ||
	       (ret_host->kind != HOST_NAME && addr_class(&ret_host->ip) == ADDR_LOOPBACK);
}
