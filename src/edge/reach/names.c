#include "edge/reach/names.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/parse.h"

#define BUCKETS 1024
#define SHARE (2 * STANDINS_MAX) /* addresses of a gateway that was started after another one */

struct name {
	char *host;
	uint32_t index; /* added to both ranges' first address */
	uint32_t refs;	/* connections */
	bool pinned;
	bool second_hand;		     /* its address has stood for another name before */
	struct name *next_host, *next_index; /* chains of the two hash tables */
	struct name *older, *newer; /* by last use; neither pinned nor held ones are in that list */
};

struct names {
	uint32_t base4, size4; /* host order */
	struct in6_addr base6;
	bool has6;
	uint32_t first, end; /* indices that are given out */
	uint32_t next_index;
	bool wrapped; /* each of them has been given out once */
	size_t n;
	struct name *oldest, *newest;
	struct name *by_host[BUCKETS], *by_index[BUCKETS];
};

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

/* "198.18.0.0/15" into its two halves; the length must lie in min..max. */
static int split_range(const char *s, int family, uint64_t min, uint64_t max, void *ret_addr,
		       uint64_t *ret_len)
{
	char text[64];
	const char *slash = strchr(s, '/');
	size_t n = slash ? (size_t)(slash - s) : 0;

	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, n);
	text[n] = '\0';
	if (inet_pton(family, text, ret_addr) != 1 || parse_uint(slash + 1, min, max, ret_len) < 0)
		return -EINVAL;
	return 0;
}

/*
 * Nobody knows which addresses the gateway before this one has given out. So the first has one half of
 * the range, and those after it have shares of the other half, as long as there are shares.
 */
static void take_share(struct names *n, uint32_t before)
{
	uint32_t half = n->size4 / 2, shares = half / SHARE;

	n->first = 1;
	n->end = n->size4 - 1;
	n->wrapped = before > 0;
	if (shares < 2)
		return;
	if (before == 0) {
		n->end = half;
		return;
	}
	n->wrapped = before > shares;
	n->first = half + (before - 1) % shares * SHARE;
	n->end = n->first + SHARE - 1;
}

struct names *names_new(const struct gw_config *c, struct err *err)
{
	const char *range4 = c->standin4 ? c->standin4 : GW_STANDIN4;
	cleanup_free struct names *n = xcalloc(1, sizeof(*n));
	struct in_addr a4;
	uint64_t len;

	if (split_range(range4, AF_INET, 8, 19, &a4, &len) < 0) {
		(void)err_set(err, EINVAL, "'%s' is no range of stand-in addresses", range4);
		return NULL;
	}
	n->base4 = ntohl(a4.s_addr);
	n->size4 = 1u << (32 - len);
	if (c->standin6) {
		/* The index goes into the low 32 bits, so a /96 is the smallest that works. */
		if (split_range(c->standin6, AF_INET6, 16, 96, &n->base6, &len) < 0) {
			(void)err_set(err, EINVAL, "'%s' is no range of stand-in addresses",
				      c->standin6);
			return NULL;
		}
		n->has6 = true;
	}
	take_share(n, c->before);
	n->next_index = n->first;
	return take_ptr(n);
}

struct names *names_free(struct names *n)
{
	for (size_t i = 0; n && i < BUCKETS; i++)
		for (struct name *nm = n->by_host[i], *next; nm; nm = next) {
			next = nm->next_host;
			free(nm->host);
			free(nm);
		}
	free(n);
	return NULL;
}

static struct name *find_host(struct names *n, const char *host)
{
	struct name *nm = n->by_host[hash(host) % BUCKETS];

	while (nm && !streq(nm->host, host))
		nm = nm->next_host;
	return nm;
}

static struct name *find_index(struct names *n, uint32_t index)
{
	struct name *nm = n->by_index[index % BUCKETS];

	while (nm && nm->index != index)
		nm = nm->next_index;
	return nm;
}

static void unlink_name(struct names *n, struct name *nm)
{
	struct name **p = &n->by_host[hash(nm->host) % BUCKETS];

	while (*p != nm)
		p = &(*p)->next_host;
	*p = nm->next_host;
	p = &n->by_index[nm->index % BUCKETS];
	while (*p != nm)
		p = &(*p)->next_index;
	*p = nm->next_index;
	n->n--;
}

/* Puts a name that nobody holds behind all others. */
static void rest(struct names *n, struct name *nm)
{
	nm->older = n->newest;
	nm->newer = NULL;
	*(nm->older ? &nm->older->newer : &n->oldest) = nm;
	n->newest = nm;
}

static void unrest(struct names *n, struct name *nm)
{
	*(nm->older ? &nm->older->newer : &n->oldest) = nm->newer;
	*(nm->newer ? &nm->newer->older : &n->newest) = nm->older;
}

static bool rests(const struct name *nm)
{
	return !nm->pinned && nm->refs == 0;
}

static bool drop_oldest(struct names *n)
{
	struct name *nm = n->oldest;

	if (!nm)
		return false;
	unrest(n, nm);
	unlink_name(n, nm);
	free(nm->host);
	free(nm);
	return true;
}

static struct name *add(struct names *n, const char *host, uint32_t index)
{
	struct name *nm = xcalloc(1, sizeof(*nm));
	uint32_t h = hash(host) % BUCKETS;

	nm->host = xstrdup(host);
	nm->index = index;
	nm->next_host = n->by_host[h];
	n->by_host[h] = nm;
	nm->next_index = n->by_index[index % BUCKETS];
	n->by_index[index % BUCKETS] = nm;
	n->n++;
	return nm;
}

/* There are many more addresses than names, so this ends. */
static void next_free(struct names *n)
{
	do {
		if (++n->next_index >= n->end) {
			n->next_index = n->first;
			n->wrapped = true;
		}
	} while (find_index(n, n->next_index));
}

struct name *names_get(struct names *n, const char *host)
{
	struct name *nm = find_host(n, host);

	if (nm && rests(nm)) {
		unrest(n, nm);
		rest(n, nm);
	}
	if (nm)
		return nm;
	if (n->n >= STANDINS_MAX && !drop_oldest(n))
		return NULL;
	next_free(n);
	nm = add(n, host, n->next_index);
	nm->second_hand = n->wrapped;
	rest(n, nm);
	return nm;
}

static bool index_of(const struct names *n, const union sockaddr_any *a, uint32_t *ret)
{
	const struct in6_addr *six = &a->v6.sin6_addr;
	uint32_t v;

	if (a->sa.sa_family == AF_INET ||
	    (a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six))) {
		v = a->sa.sa_family == AF_INET ? a->v4.sin_addr.s_addr : six->s6_addr32[3];
		*ret = ntohl(v) - n->base4;
		return *ret < n->size4;
	}
	if (a->sa.sa_family != AF_INET6 || !n->has6 || memcmp(six, &n->base6, 12) != 0)
		return false;
	*ret = ntohl(six->s6_addr32[3]);
	return *ret < n->size4;
}

struct name *names_find(struct names *n, const union sockaddr_any *addr)
{
	uint32_t index;

	return index_of(n, addr, &index) ? find_index(n, index) : NULL;
}

int names_pin(struct names *n, const char *host, const char *addr)
{
	union sockaddr_any a = {0};
	struct name *nm;
	uint32_t index;

	if (inet_pton(AF_INET, addr, &a.v4.sin_addr) == 1)
		a.sa.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, addr, &a.v6.sin6_addr) == 1)
		a.sa.sa_family = AF_INET6;
	if (!index_of(n, &a, &index))
		return -EINVAL;
	nm = find_index(n, index);
	if (!nm)
		nm = find_host(n, host) ? NULL : add(n, host, index);
	else if (streq(nm->host, host) && rests(nm))
		unrest(n, nm);
	if (!nm || !streq(nm->host, host))
		return -EEXIST;
	nm->pinned = true;
	return 0;
}

const char *name_host(const struct name *nm)
{
	return nm->host;
}

void name_v4(const struct names *n, const struct name *nm, struct in_addr *ret)
{
	ret->s_addr = htonl(n->base4 + nm->index);
}

bool name_v6(const struct names *n, const struct name *nm, struct in6_addr *ret)
{
	*ret = n->base6;
	ret->s6_addr32[3] = htonl(nm->index);
	return n->has6;
}

bool name_is_second_hand(const struct name *nm)
{
	return nm->second_hand;
}

void name_hold(struct names *n, struct name *nm)
{
	if (rests(nm))
		unrest(n, nm);
	nm->refs++;
}

void name_release(struct names *n, struct name *nm)
{
	nm->refs--;
	if (rests(nm))
		rest(n, nm);
}
