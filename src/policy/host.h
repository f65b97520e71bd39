#pragma once

#include "policy/addr.h"

#include <stdbool.h>

/*
 * The one canonical form of a host. Code that reads a host from the outside (a CONNECT target, a
 * Host header, SNI, a DNS question, a SOCKS request, a URL, a pattern) makes a struct host of it
 * once; the decision, the look-up, SNI and the log use its bytes and never the original.
 *
 *	names     lower case, one trailing dot removed, labels of [a-z0-9_-] that neither begin nor
 *	          end with '-', 1 to 63 bytes each, 253 together. '_' is let through because host
 *	          names with it are in use; it has no second spelling.
 *	addresses dotted quads as ip_parse() reads them; IPv6 with or without brackets, written as
 *	          inet_ntop does, without brackets; IPv4-mapped ones become IPv4.
 *
 * Refused, each with its own sentence: everything else. In particular a name whose last label is a
 * number in any base (127.1, 0177.0.0.1, 0x7f000001, 2130706433, 127.0.0.1. with its dot), which
 * one program takes for a name and the next for an address; and bytes above 0x7f: on the wire a
 * host is ASCII, and mapping there would make two spellings of one name. Configuration is where
 * people write names in their own script: idna.h turns those into ASCII before they get here.
 *
 * host_parse(h.name) gives h again.
 */
#define HOST_TEXT_SIZE 254

enum host_kind { HOST_NAME, HOST_IP4, HOST_IP6 };

struct host {
	enum host_kind kind;
	uint8_t len;
	char name[HOST_TEXT_SIZE]; /* canonical, NUL-terminated */
	struct ip ip;		   /* HOST_IP4, HOST_IP6 */
};

int host_parse(const char *p, size_t n, struct host *ret, struct err *err);
/* host[:port], IPv6 in brackets only. Without a port: default_port, or an error where that is 0. */
int host_parse_authority(const char *p, size_t n, uint16_t default_port, struct host *ret,
			 uint16_t *ret_port, struct err *err);
void host_from_ip(const struct ip *ip, struct host *ret);
bool host_equal(const struct host *a, const struct host *b);
/* "name:443", "[::1]:443". */
#define HOST_PORT_TEXT_SIZE (HOST_TEXT_SIZE + 8)
void host_format(const struct host *h, uint16_t port, char ret[static HOST_PORT_TEXT_SIZE]);

/* 1 to 65535, digits only, no leading zero. */
int port_parse(const char *p, size_t n, uint16_t *ret);

/* Names that mean this machine wherever they are resolved: localhost, anything below it … */
bool host_is_loopback_name(const struct host *h);
/* Names under which clouds publish their metadata service. */
bool host_is_metadata_name(const struct host *h);

/* "https://HOST[:PORT][/PATH]" taken apart; *ret_path points into origin ("" where there is none).
 */
int origin_split(const char *origin, struct host *ret, uint16_t *ret_port, const char **ret_path,
		 struct err *err);
