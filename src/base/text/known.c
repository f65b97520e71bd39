#include "base/text/known.h"

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/strv.h"
#include "base/text/mask.h"

#define LINES_MAX 64 /* of one value */

static void hash(const struct known *k, const char *p, size_t n, unsigned char ret[32])
{
	SHA256_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, k->salt, sizeof(k->salt));
	SHA256Update(&ctx, (const uint8_t *)p, n);
	SHA256Final(ret, &ctx);
}

/* The sum of a window: each byte times a power of the factor. The top bits depend on all of it. */
static uint16_t top(uint64_t sum)
{
	return (uint16_t)(sum >> 48);
}

static uint64_t sum_of(const struct known *k, const char *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * k->factor + (unsigned char)p[i] + 1;
	return sum;
}

static uint64_t power(uint64_t base, size_t n)
{
	uint64_t r = 1;

	for (; n; n >>= 1, base *= base)
		r *= n & 1 ? base : 1;
	return r;
}

static void set_salt(struct known *k)
{
	unsigned char md[32];

	hash(k, "", 0, md);
	memcpy(&k->factor, md, sizeof(k->factor));
	k->factor |= 1;
}

int known_init(struct known *k)
{
	*k = (struct known){0};
	if (getrandom(k->salt, sizeof(k->salt), 0) != (ssize_t)sizeof(k->salt))
		return -EIO;
	set_salt(k);
	return 0;
}

/* In the order in which they came: the oldest is first. */
static void insert(struct known *k, const struct known_value *v)
{
	size_t i;

	if (k->n == KNOWN_MAX)
		memmove(k->v, k->v + 1, --k->n * sizeof(*k->v));
	i = k->n++;
	k->v[i] = *v;
	if (v->is_word && (!k->shortest_word || v->len < k->shortest_word))
		k->shortest_word = v->len;
	if (!v->is_word && v->len > k->longest_text)
		k->longest_text = v->len;
}

static bool has_hash(const struct known *k, size_t len, const unsigned char *md)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].len == len && memcmp(k->v[i].hash, md, sizeof(k->v[i].hash)) == 0)
			return true;
	return false;
}

bool known_has(const struct known *k, const char *value, size_t n)
{
	unsigned char md[32];

	n = n < KNOWN_LONGEST ? n : KNOWN_LONGEST;
	hash(k, value, n, md);
	return has_hash(k, n, md);
}

static bool add_line(struct known *k, const char *p, size_t n)
{
	struct known_value v = {0};

	n = n < KNOWN_LONGEST ? n : KNOWN_LONGEST;
	if (n < KNOWN_SHORTEST)
		return false;
	v.len = (uint32_t)n;
	v.sum = top(sum_of(k, p, n));
	v.is_word = mask_word_len(p, n) == n;
	hash(k, p, n, v.hash);
	if (has_hash(k, n, v.hash))
		return false;
	insert(k, &v);
	return true;
}

bool known_add(struct known *k, const char *value)
{
	bool added = false;

	for (int i = 0; *value && i < LINES_MAX; i++) {
		size_t n = strcspn(value, "\r\n");

		added = add_line(k, value, n) || added;
		value += n;
		value += strspn(value, "\r\n");
	}
	return added;
}

bool known_merge(struct known *k, const struct known *from)
{
	bool added = false;

	if (memcmp(k->salt, from->salt, sizeof(k->salt)) != 0)
		return false;
	for (size_t i = 0; i < from->n; i++) {
		if (has_hash(k, from->v[i].len, from->v[i].hash))
			continue;
		insert(k, &from->v[i]);
		added = true;
	}
	return added;
}

/* Looks at one window whose sum fits. */
static bool is_one(const struct known *k, size_t i, const char *p)
{
	unsigned char md[32];

	hash(k, p, k->v[i].len, md);
	return memcmp(md, k->v[i].hash, sizeof(md)) == 0;
}

size_t known_find(const struct known *k, size_t i, const char *p, size_t n)
{
	size_t len = k->v[i].len;
	uint64_t out, sum;

	if (n < len)
		return n;
	out = power(k->factor, len - 1);
	sum = sum_of(k, p, len);
	for (size_t at = 0;; at++) {
		if (top(sum) == k->v[i].sum && is_one(k, i, p + at))
			return at;
		if (at + len >= n)
			return n;
		sum -= ((unsigned char)p[at] + 1) * out;
		sum = sum * k->factor + (unsigned char)p[at + len] + 1;
	}
}

bool known_in_word(const struct known *k, const char *p, size_t n)
{
	if (!k->shortest_word || n < k->shortest_word)
		return false;
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].is_word && known_find(k, i, p, n) < n)
			return true;
	return false;
}

static void put_hex(struct buf *b, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(b, "%02x", p[i]);
	(void)buf_putc(b, '\n');
}

char *known_write(const struct known *k)
{
	struct buf b;

	buf_init(&b, KNOWN_TEXT_MAX);
	put_hex(&b, k->salt, sizeof(k->salt));
	for (size_t i = 0; i < k->n; i++) {
		(void)buf_printf(&b, "%u %u %u ", k->v[i].len, k->v[i].is_word, k->v[i].sum);
		put_hex(&b, k->v[i].hash, sizeof(k->v[i].hash));
	}
	return buf_take(&b);
}

static int get_hex(const char *s, unsigned char *ret, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(s) != 2 * n || strspn(s, digits) != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		ret[i] = (unsigned char)((strchr(digits, s[2 * i]) - digits) << 4 |
					 (strchr(digits, s[2 * i + 1]) - digits));
	return 0;
}

static int read_line(struct known *k, const char *line)
{
	cleanup_strv struct strv part = {0};
	struct known_value v = {0};
	uint64_t len, is_word, sum;

	strv_split(&part, line, ' ');
	if (part.n != 4 || parse_uint(part.v[0], KNOWN_SHORTEST, KNOWN_LONGEST, &len) < 0 ||
	    parse_uint(part.v[1], 0, 1, &is_word) < 0 ||
	    parse_uint(part.v[2], 0, UINT16_MAX, &sum) < 0 ||
	    get_hex(part.v[3], v.hash, sizeof(v.hash)) < 0)
		return -EINVAL;
	v.len = (uint32_t)len;
	v.is_word = is_word;
	v.sum = (uint16_t)sum;
	insert(k, &v);
	return 0;
}

int known_read(struct known *k, const char *text, size_t n)
{
	cleanup_free char *copy = xstrndup(text, n);
	cleanup_strv struct strv lines = {0};
	int r;

	*k = (struct known){0};
	strv_split(&lines, copy, '\n');
	r = lines.n ? get_hex(lines.v[0], k->salt, sizeof(k->salt)) : -EINVAL;
	for (size_t i = 1; r == 0 && i < lines.n; i++)
		r = read_line(k, lines.v[i]);
	if (r == 0)
		set_salt(k);
	return r;
}
