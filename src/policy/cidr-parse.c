/* Ranges of addresses as people write them. */
#include "policy/addr.h"

#include <string.h>

/* "/8": one to three digits, no leading zero. */
static int parse_prefix_len(const char *p, size_t n, unsigned max, uint8_t *ret)
{
	unsigned v = 0;

	if (n == 0 || n > 3 || (n > 1 && p[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -EINVAL;
		v = v * 10 + (unsigned)(p[i] - '0');
	}
	if (v > max)
		return -ERANGE;
	*ret = (uint8_t)v;
	return 0;
}

static void clear_host_bits(struct ip *ip, unsigned len)
{
	unsigned bits = ip->v6 ? 128 : 32;

	for (unsigned i = len; i < bits; i++)
		ip->b[i / 8] &= (uint8_t) ~(0x80 >> (i % 8));
}

int cidr_parse(const char *p, size_t n, struct cidr *ret, struct err *err)
{
	const char *slash = memchr(p, '/', n);
	size_t addr_n = slash ? (size_t)(slash - p) : n, raw_len;
	int shown = n > 60 ? 60 : (int)n;
	struct cidr c = {0};
	char text[IP_TEXT_SIZE];
	struct ip cleared;
	uint8_t raw[16];

	if (ip_read(p, addr_n, raw, &raw_len) < 0)
		return err_set(err, EINVAL, "'%.*s' is not an address or an address range", shown,
			       p);
	(void)ip_from_bytes(raw, raw_len, &c.ip);
	if (!slash) {
		c.len = c.ip.v6 ? 128 : 32;
		*ret = c;
		return 0;
	}
	if (raw_len == 16 && !c.ip.v6)
		return err_set(err, EINVAL,
			       "'%.*s' is a range of mapped IPv4 addresses; write it "
			       "as IPv4",
			       shown, p);
	if (parse_prefix_len(slash + 1, n - addr_n - 1, c.ip.v6 ? 128 : 32, &c.len) < 0)
		return err_set(err, EINVAL, "'%.*s': the length of the range must be 0 to %d",
			       shown, p, c.ip.v6 ? 128 : 32);
	cleared = c.ip;
	clear_host_bits(&cleared, c.len);
	if (!ip_equal(&cleared, &c.ip)) {
		ip_format(&cleared, text);
		return err_set(err, EINVAL,
			       "'%.*s' has bits set behind its length; did you mean "
			       "'%s/%u'?",
			       shown, p, text, c.len);
	}
	*ret = c;
	return 0;
}
