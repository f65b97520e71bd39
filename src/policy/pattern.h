#pragma once

#include "policy/host.h"

/*
 * A rule names hosts and ports by a pattern.
 *
 *	example.com            that name, ports 80 and 443
 *	example.com:22         that name, one port          example.com:*   any port
 *	*.example.com[:port]   any depth below it, not example.com itself
 *	192.0.2.7[:port]       one address                  [2001:db8::7]:443, 2001:db8::7
 *	10.0.0.0/8[:port]      a range                      [fd00::/8]:443, fd00::/8
 *	localhost:5432         one port of the host's own loopback, a host service;
 *	                       127.0.0.1:5432 and [::1]:5432 are other spellings of the same
 *
 * Groups (@name) are expanded before they get here. For a deny rule no port means every port (a
 * host that is denied is denied), 'localhost' may stand without one, and any width is accepted.
 *
 * An allow rule must not be wider than somebody could have meant: '*', '*.com', '*.co.uk', domains
 * under which anybody may publish ('*.github.io'), 0.0.0.0/0 and other ranges wider than /8 are
 * refused with what to write instead. The notion of a registry's suffix is a small table of our
 * own: libpsl would add a library and its list to every start, to catch spellings nobody writes.
 */
enum pattern_kind { PATTERN_NAME, PATTERN_BELOW, PATTERN_CIDR, PATTERN_SERVICE };
enum pattern_ports { PORTS_WEB, PORTS_ONE, PORTS_ANY };

struct pattern {
	enum pattern_kind kind;
	enum pattern_ports ports;
	uint16_t port;		   /* PORTS_ONE */
	uint8_t len;		   /* of name */
	char name[HOST_TEXT_SIZE]; /* PATTERN_NAME, PATTERN_BELOW: without "*." */
	struct cidr cidr;	   /* PATTERN_CIDR */
};

/* The user's mistake is -EINVAL with exit code 2 and a sentence that quotes the pattern. */
int pattern_parse(const char *text, bool deny, struct pattern *ret, struct err *err);

/* 127.0.0.1 and ::1, under which a host service is reached. */
bool pattern_is_loopback(const struct ip *ip);
bool pattern_has_port(const struct pattern *p, uint16_t port);
/* Ports aside. A name is matched by name patterns alone, an address by address patterns alone;
 * a service is matched by "localhost", 127.0.0.1 and ::1. */
bool pattern_has_host(const struct pattern *p, const struct host *h);
bool pattern_has_ip(const struct pattern *p, const struct ip *ip);

/* Among patterns that match one host: the longer name or range first, then a named port. */
unsigned pattern_specificity(const struct pattern *p);
