#include "policy/pattern.h"

#include <string.h>

bool pattern_is_loopback(const struct ip *ip)
{
	static const struct ip v4 = {.b = {127, 0, 0, 1}};
	static const struct ip v6 = {.v6 = true, .b = {[15] = 1}};

	return ip_equal(ip, &v4) || ip_equal(ip, &v6);
}

bool pattern_has_port(const struct pattern *p, uint16_t port)
{
	switch (p->ports) {
	case PORTS_WEB:
		return port == 80 || port == 443;
	case PORTS_ONE:
		return port == p->port;
	case PORTS_ANY:
		return true;
	}
	return false;
}

bool pattern_has_ip(const struct pattern *p, const struct ip *ip)
{
	if (p->kind == PATTERN_SERVICE)
		return pattern_is_loopback(ip);
	return p->kind == PATTERN_CIDR && cidr_contains(&p->cidr, ip);
}

bool pattern_has_host(const struct pattern *p, const struct host *h)
{
	if (h->kind != HOST_NAME)
		return pattern_has_ip(p, &h->ip);
	switch (p->kind) {
	case PATTERN_NAME:
		return h->len == p->len && memcmp(h->name, p->name, p->len) == 0;
	case PATTERN_BELOW:
		return h->len > p->len + 1 && h->name[h->len - p->len - 1] == '.' &&
		       memcmp(h->name + h->len - p->len, p->name, p->len) == 0;
	case PATTERN_SERVICE:
		return streq(h->name, "localhost");
	case PATTERN_CIDR:
		return false;
	}
	return false;
}

unsigned pattern_specificity(const struct pattern *p)
{
	static const unsigned exact = 256; /* more than any suffix or range is long */
	unsigned host = exact;

	if (p->kind == PATTERN_BELOW)
		host = p->len;
	else if (p->kind == PATTERN_CIDR && !cidr_is_single(&p->cidr))
		host = p->cidr.len;
	return host * 2 + (p->ports == PORTS_ONE);
}
