#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Addresses and what kind of place they are. Pure: nothing here resolves or opens anything.
 *
 * An IPv4-mapped IPv6 address (::ffff:a.b.c.d) is that IPv4 address: whoever dials it sends IPv4
 * packets, so every constructor below gives the IPv4 form.
 */
struct ip {
	bool v6;
	uint8_t b[16]; /* IPv4: the first four */
};

#define IP_TEXT_SIZE 46

/*
 * Strict: a dotted quad of four decimal numbers without leading zeros, or an IPv6 address without
 * brackets or zone. -EINVAL for anything else; octal, hex, short and single-number spellings are
 * never read.
 */
int ip_parse(const char *p, size_t n, struct ip *ret);
/* The same, as the bytes that were written: *ret_len is 4, or 16 for one that holds an IPv4 address, too. */
int ip_read(const char *p, size_t n, uint8_t b[16], size_t *ret_len);
/* The four or sixteen bytes of a DNS answer or a SOCKS request; -EINVAL for another length. */
int ip_from_bytes(const void *p, size_t n, struct ip *ret);
int ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret, uint16_t *ret_port);
socklen_t ip_to_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *ret);
void ip_format(const struct ip *ip, char ret[static IP_TEXT_SIZE]);
bool ip_equal(const struct ip *a, const struct ip *b);

/* Worst last: an address that carries others inside it has the worst class of them all. */
enum addr_class {
	ADDR_PUBLIC,
	ADDR_DOCUMENTATION,
	ADDR_RESERVED, /* IETF special registries, unassigned space, deprecated forms */
	ADDR_CGNAT,
	ADDR_PRIVATE, /* RFC 1918, ULA, site-local, local NAT64 */
	ADDR_LINK_LOCAL,
	ADDR_STANDIN, /* 198.18.0.0/15: benchmarks, and ralph's addresses that stand for names */
	ADDR_MULTICAST,
	ADDR_BROADCAST,
	ADDR_UNSPECIFIED, /* 0.0.0.0/8 and ::, which dial the loopback */
	ADDR_LOOPBACK,
	ADDR_METADATA, /* cloud instance services: they hand out credentials to whoever asks */
	ADDR_CLASS_N,
};

/*
 * The class of an address, and of every IPv4 address it carries: IPv4-compatible and -translated,
 * 6to4, Teredo (server and client), NAT64 (64:ff9b::/96, and 64:ff9b:1::/48 in each layout of RFC
 * 6052), ISATAP. A NAT64 prefix that an operator chose from its own space cannot be known here.
 */
enum addr_class addr_class(const struct ip *ip);
const char *addr_class_name(enum addr_class c); /* "a private", "a loopback" …: before "address" */

struct cidr {
	struct ip ip;
	uint8_t len;
};

/* "10.0.0.0/8", "fd00::/8", or one address. Bits behind the length must be zero: the sentence says
 * what was probably meant. IPv4-mapped ranges are refused in favour of the IPv4 spelling. */
int cidr_parse(const char *p, size_t n, struct cidr *ret, struct err *err);
bool cidr_contains(const struct cidr *c, const struct ip *ip);
bool cidr_is_single(const struct cidr *c);
