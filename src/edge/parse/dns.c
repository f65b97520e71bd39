#include "edge/parse/dns.h"

enum {
	FLAG_QR = 0x8000,
	FLAG_TC = 0x0200,
	FLAG_RD = 0x0100,
	FLAG_RA = 0x0080,
	FLAG_CD = 0x0010,
	OPCODE = 0x7800,
	CLASS_IN = 1,
	TYPE_OPT = 41,
	OPT_LEN = 11, /* root name, type, size, ttl, length 0 */
	UDP_MIN = 512,
	NAME_POINTER = 0xc00c, /* the question's name, behind the header */
};

/* The code that a refusal answers with; -1: no answer. */
static const int rcodes[DNS_REASON_N] = {
	[DNS_FINE] = DNS_NOERROR,
	[DNS_SHORT] = -1,
	[DNS_RESPONSE] = -1,
	[DNS_OPCODE] = DNS_NOTIMP,
	[DNS_COUNTS] = DNS_FORMERR,
	[DNS_NAME] = DNS_FORMERR,
	[DNS_NAME_BYTES] = DNS_FORMERR,
	[DNS_CLASS] = DNS_REFUSED,
	[DNS_OPT] = DNS_FORMERR,
	[DNS_EDNS_VERSION] = DNS_BADVERS,
	[DNS_TRAILING] = DNS_FORMERR,
	[DNS_LONG] = DNS_FORMERR,
};

static unsigned int reason_index(int reason)
{
	unsigned int i = reason < 0 ? -(unsigned int)reason : (unsigned int)reason;

	return i < DNS_REASON_N ? i : DNS_FINE;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

/* A byte that would make the dotted text mean another name, or nothing printable. */
static bool label_byte_ok(uint8_t c)
{
	return c > ' ' && c != '.' && c != '\\' && c != 0x7f;
}

/* Reads labels from *at into q->name; a compression pointer or any other label type is refused. */
static int parse_name(const uint8_t *p, size_t len, size_t *at, struct dns_query *q)
{
	for (;;) {
		size_t n;

		if (*at >= len)
			return -DNS_NAME;
		n = p[(*at)++];
		if (n == 0)
			break;
		if (n > DNS_LABEL_MAX || n > len - *at)
			return -DNS_NAME;
		if (q->name_len + n + (q->name_len ? 1 : 0) > DNS_NAME_MAX)
			return -DNS_NAME;
		if (q->name_len)
			q->name[q->name_len++] = '.';
		for (size_t i = 0; i < n; i++) {
			uint8_t c = p[*at + i];

			if (!label_byte_ok(c))
				return -DNS_NAME_BYTES;
			q->name[q->name_len++] = (char)c;
		}
		*at += n;
	}
	q->name[q->name_len] = '\0';
	return 0;
}

/* The one additional record that is tolerated: EDNS0's OPT, whatever options it holds. */
static int parse_opt(const uint8_t *p, size_t len, size_t *at, struct dns_query *q)
{
	const uint8_t *opt = p + *at;
	size_t data;

	if (len - *at < OPT_LEN || opt[0] != 0 || get16(opt + 1) != TYPE_OPT)
		return -DNS_OPT;
	data = get16(opt + 9);
	if (data > len - *at - OPT_LEN)
		return -DNS_OPT;
	if (opt[6] != 0)
		return -DNS_EDNS_VERSION;
	q->edns = true;
	if (get16(opt + 3) > UDP_MIN)
		q->udp_size = get16(opt + 3);
	*at += OPT_LEN + data;
	return 0;
}

static int parse_header(const uint8_t *p, size_t len, struct dns_query *q)
{
	unsigned int flags;

	if (len < DNS_HEADER)
		return -DNS_SHORT;
	flags = get16(p + 2);
	if (flags & FLAG_QR)
		return -DNS_RESPONSE;
	if (len > DNS_QUERY_MAX)
		return -DNS_LONG;
	if (flags & OPCODE)
		return -DNS_OPCODE;
	if (get16(p + 4) != 1 || get16(p + 6) || get16(p + 8) || get16(p + 10) > 1)
		return -DNS_COUNTS;
	q->id = get16(p);
	q->rd = flags & FLAG_RD;
	q->cd = flags & FLAG_CD;
	q->udp_size = UDP_MIN;
	return 0;
}

int dns_parse_query(const void *p, size_t len, struct dns_query *ret)
{
	const uint8_t *b = p;
	struct dns_query q = {0};
	size_t at = DNS_HEADER;
	int r = parse_header(b, len, &q);

	if (r < 0)
		return r;
	r = parse_name(b, len, &at, &q);
	if (r < 0)
		return r;
	if (len - at < 4)
		return -DNS_NAME;
	q.qtype = get16(b + at);
	if (get16(b + at + 2) != CLASS_IN)
		return -DNS_CLASS;
	at += 4;
	q.question = b + DNS_HEADER;
	q.question_len = at - DNS_HEADER;
	if (get16(b + 10)) {
		r = parse_opt(b, len, &at, &q);
		if (r < 0)
			return r;
	}
	if (at != len)
		return -DNS_TRAILING;
	*ret = q;
	return 0;
}

ssize_t dns_tcp_frame(const void *p, size_t len, struct slice *ret_msg)
{
	size_t n;

	if (len < 2)
		return 0;
	n = get16(p);
	if (n < DNS_HEADER)
		return -DNS_SHORT;
	if (n > DNS_QUERY_MAX)
		return -DNS_LONG;
	if (len - 2 < n)
		return 0;
	*ret_msg = (struct slice){(const char *)p + 2, n};
	return (ssize_t)n + 2;
}

void dns_put_tcp_length(uint8_t out[static 2], uint16_t len)
{
	put16(out, len);
}

size_t dns_udp_limit(const struct dns_query *q)
{
	return q->udp_size < DNS_UDP_MAX ? q->udp_size : DNS_UDP_MAX;
}

static size_t put_opt(uint8_t *p, unsigned int rcode)
{
	memset(p, 0, OPT_LEN);
	put16(p + 1, TYPE_OPT);
	put16(p + 3, DNS_UDP_MAX);
	p[5] = (uint8_t)(rcode >> 4);
	return OPT_LEN;
}

static size_t put_record(uint8_t *p, const struct dns_query *q, uint32_t ttl, const void *addr,
			 size_t n)
{
	put16(p, NAME_POINTER);
	put16(p + 2, q->qtype);
	put16(p + 4, CLASS_IN);
	put32(p + 6, ttl);
	put16(p + 10, (unsigned int)n);
	memcpy(p + 12, addr, n);
	return 12 + n;
}

size_t dns_put_answer(void *out, size_t cap, const struct dns_query *q, const struct dns_answer *a)
{
	uint8_t *b = out;
	size_t opt = q->edns ? OPT_LEN : 0, at = DNS_HEADER + q->question_len, n = 0, size = 0;
	unsigned int flags = FLAG_QR | FLAG_RA | (a->rcode & 15);
	const uint8_t *addrs = NULL;

	if (cap < at + opt)
		return 0;
	if (a->rcode == DNS_NOERROR && q->qtype == DNS_A) {
		addrs = (const uint8_t *)a->a4;
		n = a->n_a4;
		size = sizeof(struct in_addr);
	} else if (a->rcode == DNS_NOERROR && q->qtype == DNS_AAAA) {
		addrs = (const uint8_t *)a->a6;
		n = a->n_a6;
		size = sizeof(struct in6_addr);
	}
	n = n < DNS_ADDRS_MAX ? n : DNS_ADDRS_MAX;
	if (n * (12 + size) > cap - at - opt) {
		flags |= FLAG_TC;
		n = 0;
	}
	flags |= (q->rd ? FLAG_RD : 0) | (q->cd ? FLAG_CD : 0);
	memcpy(b + DNS_HEADER, q->question, q->question_len);
	for (size_t i = 0; i < n; i++)
		at += put_record(b + at, q, a->ttl, addrs + i * size, size);
	if (opt)
		at += put_opt(b + at, a->rcode);
	put16(b, q->id);
	put16(b + 2, flags);
	put16(b + 4, 1);
	put16(b + 6, (unsigned int)n);
	put16(b + 8, 0);
	put16(b + 10, opt ? 1 : 0);
	return at;
}

size_t dns_put_refusal(void *out, size_t cap, const void *query, size_t len, int reason)
{
	const uint8_t *q = query;
	uint8_t *b = out;
	int rcode = rcodes[reason_index(reason)];
	bool opt = rcode > 15;
	size_t n = DNS_HEADER + (opt ? OPT_LEN : 0);

	if (rcode < 0 || len < DNS_HEADER || cap < n)
		return 0;
	put16(b, get16(q));
	put16(b + 2, FLAG_QR | (get16(q + 2) & (OPCODE | FLAG_RD)) | ((unsigned int)rcode & 15));
	memset(b + 4, 0, DNS_HEADER - 4);
	put16(b + 10, opt ? 1 : 0);
	if (opt)
		(void)put_opt(b + DNS_HEADER, (unsigned int)rcode);
	return n;
}
