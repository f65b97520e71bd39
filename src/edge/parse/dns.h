#pragma once

/*
 * ROOM: edge/parse
 *
 * Readers of what the sandbox and servers send before anything is decided. Pure: no socket, no policy,
 * no event.
 */

#include "http/slice.h"

#include <netinet/in.h>

/*
 * The little of DNS that a sandbox is served: one question in, one answer out. The question is
 * echoed byte for byte (case kept, for clients that check it), names in it are never compressed,
 * EDNS0 is tolerated and answered with an empty OPT. Nothing here resolves anything.
 */
enum {
	DNS_HEADER = 12,
	DNS_NAME_MAX = 253, /* as text, without a trailing dot */
	DNS_LABEL_MAX = 63,
	DNS_QUERY_MAX = 1232, /* a query longer than this is refused on TCP too */
	DNS_UDP_MAX = 1232,   /* the largest datagram that is sent */
	DNS_TCP_MAX = 4096,
	DNS_ADDRS_MAX = 16, /* addresses in one answer */
};

enum dns_reason {
	DNS_FINE,
	DNS_SHORT,	  /* less than a header: no answer */
	DNS_RESPONSE,	  /* QR is set: no answer, two servers would talk for ever */
	DNS_OPCODE,	  /* NOTIMP */
	DNS_COUNTS,	  /* not one question alone: FORMERR */
	DNS_NAME,	  /* compression, a label or name too long, cut off: FORMERR */
	DNS_NAME_BYTES,	  /* a dot, NUL, space or control byte in a label: FORMERR */
	DNS_CLASS,	  /* not IN: REFUSED */
	DNS_OPT,	  /* a malformed or second OPT, another additional record: FORMERR */
	DNS_EDNS_VERSION, /* BADVERS */
	DNS_TRAILING,	  /* bytes behind the message: FORMERR */
	DNS_LONG,	  /* FORMERR */
	DNS_REASON_N,
};

enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_AAAA = 28,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_ANY = 255
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* needs the OPT record's upper bits */
};

struct dns_query {
	uint16_t id, qtype;
	bool rd, cd;
	bool edns;
	uint16_t udp_size;	     /* 512 without EDNS, never below */
	char name[DNS_NAME_MAX + 1]; /* dotted, case kept, no trailing dot; "" is the root */
	size_t name_len;
	const uint8_t *question; /* into the caller's bytes: name, type and class */
	size_t question_len;
};

/* Only what fits the question is written: a4 for A, a6 for AAAA. Neither: NODATA. */
struct dns_answer {
	enum dns_rcode rcode;
	uint32_t ttl;
	const struct in_addr *a4;
	size_t n_a4;
	const struct in6_addr *a6;
	size_t n_a6;
};

/* Parses one whole message (a datagram, or the result of dns_tcp_frame). 0 or -dns_reason. */
int dns_parse_query(const void *p, size_t len, struct dns_query *ret);
/* Finds a TCP message behind its length; returns as http/slice.h says. */
ssize_t dns_tcp_frame(const void *p, size_t len, struct slice *ret_msg);
void dns_put_tcp_length(uint8_t out[static 2], uint16_t len);

/* The most a datagram may carry in answer to q. */
size_t dns_udp_limit(const struct dns_query *q);
/*
 * Writes the answer, never more than cap bytes: if the records do not fit, none is written and TC
 * is set. The length, or 0 if not even header and question fit. A type that is neither A nor AAAA
 * is NODATA under NOERROR, so no HTTPS record ever offers another endpoint or an ECH key.
 */
size_t dns_put_answer(void *out, size_t cap, const struct dns_query *q, const struct dns_answer *a);
/* For a query that dns_parse_query refused: header only. 0: stay silent. */
size_t dns_put_refusal(void *out, size_t cap, const void *query, size_t len, int reason);
