#include "policy/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static struct ip ip_v4(const uint8_t *b)
{
	struct ip ip = {.v6 = false};

	memcpy(ip.b, b, 4);
	return ip;
}

int ip_from_bytes(const void *p, size_t n, struct ip *ret)
{
	const uint8_t *b = p;

	if (n == 4) {
		*ret = ip_v4(b);
		return 0;
	}
	if (n != 16)
		return -EINVAL;
	if (memcmp(b, mapped_prefix, sizeof(mapped_prefix)) == 0) {
		*ret = ip_v4(b + 12);
		return 0;
	}
	ret->v6 = true;
	memcpy(ret->b, b, 16);
	return 0;
}

/* inet_pton is strict in both families (glibc and musl refuse leading zeros, short forms and
 * zones); a NUL inside the input would cut it short, so the length is compared first. */
int ip_read(const char *p, size_t n, uint8_t b[16], size_t *ret_len)
{
	char text[IP_TEXT_SIZE];

	if (n == 0 || n >= sizeof(text) || memchr(p, '\0', n))
		return -EINVAL;
	memcpy(text, p, n);
	text[n] = '\0';
	*ret_len = memchr(p, ':', n) ? 16 : 4;
	return inet_pton(*ret_len == 16 ? AF_INET6 : AF_INET, text, b) == 1 ? 0 : -EINVAL;
}

int ip_parse(const char *p, size_t n, struct ip *ret)
{
	uint8_t b[16];
	size_t len;
	int r = ip_read(p, n, b, &len);

	return r < 0 ? r : ip_from_bytes(b, len, ret);
}

void ip_format(const struct ip *ip, char ret[static IP_TEXT_SIZE])
{
	if (!inet_ntop(ip->v6 ? AF_INET6 : AF_INET, ip->b, ret, IP_TEXT_SIZE))
		ret[0] = '\0';
}

bool ip_equal(const struct ip *a, const struct ip *b)
{
	return a->v6 == b->v6 && memcmp(a->b, b->b, a->v6 ? 16 : 4) == 0;
}

static bool prefix_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
	unsigned whole = len / 8, rest = len % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	/* Nearly every row of a table differs in its first byte. */
	return (!whole || a[0] == b[0]) && memcmp(a, b, whole) == 0 &&
	       (rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0);
}

bool cidr_contains(const struct cidr *c, const struct ip *ip)
{
	return c->ip.v6 == ip->v6 && prefix_equal(c->ip.b, ip->b, c->len);
}

bool cidr_is_single(const struct cidr *c)
{
	return c->len == (c->ip.v6 ? 128 : 32);
}

/*
 * The special-purpose address registries of IANA, the metadata services of the clouds, and our own
 * range; the first match counts, so the narrow rows of a family stand before the wide ones.
 */
struct range {
	uint8_t b[16];
	uint8_t len;
	uint8_t class;
};

/* clang-format off */
static const struct range ranges4[] = {
	{{169, 254, 169},       24, ADDR_METADATA}, /* EC2, GCP, Azure, OpenStack … and their DNS */
	{{169, 254, 170},       24, ADDR_METADATA}, /* ECS tasks, EKS pods */
	{{169, 254, 0, 23},     32, ADDR_METADATA}, /* Tencent */
	{{169, 254, 42, 42},    32, ADDR_METADATA}, /* Scaleway */
	{{100, 100, 100, 200},  32, ADDR_METADATA}, /* Alibaba */
	{{168, 63, 129, 16},    32, ADDR_METADATA}, /* Azure's wire server, in public space */
	{{192, 0, 0, 192},      32, ADDR_METADATA}, /* Oracle */
	{{255, 255, 255, 255},  32, ADDR_BROADCAST},
	{{192, 0, 0},           24, ADDR_RESERVED},
	{{192, 0, 2},           24, ADDR_DOCUMENTATION},
	{{198, 51, 100},        24, ADDR_DOCUMENTATION},
	{{203, 0, 113},         24, ADDR_DOCUMENTATION},
	{{192, 88, 99},         24, ADDR_RESERVED}, /* 6to4 relays */
	{{169, 254},            16, ADDR_LINK_LOCAL},
	{{192, 168},            16, ADDR_PRIVATE},
	{{198, 18},             15, ADDR_STANDIN},
	{{172, 16},             12, ADDR_PRIVATE},
	{{100, 64},             10, ADDR_CGNAT},
	{{0},                    8, ADDR_UNSPECIFIED},
	{{10},                   8, ADDR_PRIVATE},
	{{127},                  8, ADDR_LOOPBACK},
	{{224},                  4, ADDR_MULTICAST},
	{{240},                  4, ADDR_RESERVED},
	{{0},                    0, ADDR_PUBLIC},
};

static const struct range ranges6[] = {
	{{0},                                                  128, ADDR_UNSPECIFIED},
	{{[15] = 1},                                           128, ADDR_LOOPBACK},
	{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54},          128, ADDR_METADATA}, /* GCP */
	{{0xfd, 0x00, 0x00, 0xc1, [12] = 169, 254, 169, 254},  128, ADDR_METADATA}, /* Oracle */
	{{0xfd, 0x00, 0x00, 0x42, [15] = 0x42},                128, ADDR_METADATA}, /* Scaleway */
	{{0xfe, 0x80, [12] = 169, 254, 169, 254},              128, ADDR_METADATA}, /* OpenStack */
	{{0xfd, 0x00, 0x0e, 0xc2},                              32, ADDR_METADATA}, /* EC2, EKS */
	{{0x00, 0x64, 0xff, 0x9b},                              96, ADDR_PUBLIC},   /* NAT64 */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01},                  48, ADDR_PRIVATE},  /* NAT64, local */
	{{0x20, 0x01, 0x0d, 0xb8},                              32, ADDR_DOCUMENTATION},
	{{0x20, 0x01, 0x00},                                    23, ADDR_RESERVED}, /* Teredo … */
	{{0x3f, 0xff, 0x00},                                    20, ADDR_DOCUMENTATION},
	{{0xfe, 0x80},                                          10, ADDR_LINK_LOCAL},
	{{0xfe, 0xc0},                                          10, ADDR_PRIVATE},  /* site-local */
	{{0xff},                                                 8, ADDR_MULTICAST},
	{{0xfc},                                                 7, ADDR_PRIVATE},
	{{0x20},                                                 3, ADDR_PUBLIC},   /* 6to4 as well */
	{{0},                                                    0, ADDR_RESERVED}, /* discard … */
};
/* clang-format on */

static enum addr_class look_up(const struct range *rows, const uint8_t *b)
{
	while (!prefix_equal(rows->b, b, rows->len))
		rows++; /* ends: the last row has length 0 */
	return (enum addr_class)rows->class;
}

static enum addr_class worse(enum addr_class a, enum addr_class b)
{
	return a > b ? a : b;
}

/* An IPv6 address that starts with `prefix` may carry an IPv4 address in its bytes `at`. RFC 6052
 * leaves byte 8 out, which is why its layouts have a gap. */
struct carrier {
	uint8_t prefix[16];
	uint8_t len;
	uint8_t at[4];
	uint8_t invert; /* Teredo hides the client's address behind a XOR */
};

/* clang-format off */
static const struct carrier carriers[] = {
	{{0},                                   96, {12, 13, 14, 15}, 0},    /* compatible */
	{{[8] = 0xff, 0xff},                    96, {12, 13, 14, 15}, 0},    /* translated (SIIT) */
	{{0x20, 0x02},                          16, { 2,  3,  4,  5}, 0},    /* 6to4 */
	{{0x20, 0x01, 0x00, 0x00},              32, { 4,  5,  6,  7}, 0},    /* Teredo server */
	{{0x20, 0x01, 0x00, 0x00},              32, {12, 13, 14, 15}, 0xff}, /* Teredo client */
	{{0x00, 0x64, 0xff, 0x9b},              96, {12, 13, 14, 15}, 0},    /* NAT64 */
};
static const struct carrier local_nat64[] = {
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01},  48, { 6,  7,  9, 10}, 0},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01},  48, { 7,  9, 10, 11}, 0},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01},  48, { 9, 10, 11, 12}, 0},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01},  48, {12, 13, 14, 15}, 0},
};
/* clang-format on */

static enum addr_class carried(const struct carrier *c, const uint8_t *b)
{
	uint8_t v4[4];

	for (size_t i = 0; i < 4; i++)
		v4[i] = b[c->at[i]] ^ c->invert;
	return look_up(ranges4, v4);
}

/* ISATAP puts the IPv4 address into the interface identifier, under any prefix. */
static bool is_isatap(const uint8_t *b)
{
	return (b[8] & ~0x02) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
}

enum addr_class addr_class(const struct ip *ip)
{
	static const struct carrier isatap = {.at = {12, 13, 14, 15}};
	enum addr_class c;

	if (!ip->v6)
		return look_up(ranges4, ip->b);
	c = look_up(ranges6, ip->b);
	if (c == ADDR_UNSPECIFIED || c == ADDR_LOOPBACK || c == ADDR_MULTICAST)
		return c;
	for (size_t i = 0; i < ARRAY_SIZE(carriers); i++)
		if (prefix_equal(carriers[i].prefix, ip->b, carriers[i].len))
			c = worse(c, carried(&carriers[i], ip->b));
	/* The layout that the operator chose is unknown. Zeros in the other layouts would make
	 * nearly every address "unspecified", so only loopback and metadata count. */
	for (size_t i = 0; i < ARRAY_SIZE(local_nat64); i++)
		if (prefix_equal(local_nat64[i].prefix, ip->b, local_nat64[i].len) &&
		    carried(&local_nat64[i], ip->b) >= ADDR_LOOPBACK)
			c = worse(c, carried(&local_nat64[i], ip->b));
	if (is_isatap(ip->b))
		c = worse(c, carried(&isatap, ip->b));
	return c;
}

const char *addr_class_name(enum addr_class c)
{
	static const char *const names[] = {
		[ADDR_PUBLIC] = "a public",	  [ADDR_DOCUMENTATION] = "a documentation",
		[ADDR_RESERVED] = "a reserved",	  [ADDR_CGNAT] = "a carrier-grade NAT",
		[ADDR_PRIVATE] = "a private",	  [ADDR_LINK_LOCAL] = "a link-local",
		[ADDR_STANDIN] = "a stand-in",	  [ADDR_MULTICAST] = "a multicast",
		[ADDR_BROADCAST] = "a broadcast", [ADDR_UNSPECIFIED] = "an unspecified",
		[ADDR_LOOPBACK] = "a loopback",	  [ADDR_METADATA] = "a cloud metadata",
	};
	static_assert(ARRAY_SIZE(names) == ADDR_CLASS_N, "one name per class");

	return c < ADDR_CLASS_N ? names[c] : "an unknown";
}
