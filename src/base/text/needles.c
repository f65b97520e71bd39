#include "base/text/needles.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define HASHES 4096
#define BLOCK 3
#define NONE 0xffff

struct needle {
	char *p;
	size_t n;
	uint16_t next; /* with the same last block in its window; NONE: the last */
};

struct needles {
	unsigned int refs;
	size_t window; /* the shortest */
	size_t longest;
	size_t n;
	struct needle list[NEEDLES_MAX];
	uint16_t first[HASHES]; /* the first needle whose window ends with this block */
	uint8_t shift[HASHES];	/* the distance by which the window may move on */
	uint64_t begins[4];	/* a bit for each first byte of a needle */
	uint64_t holds[4];	/* a bit for each byte that is in a needle */
};

struct text {
	const char *p;
	size_t n;
};

static unsigned int hash(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (u[0] ^ (unsigned int)u[1] << 3 ^ (unsigned int)u[2] << 6) % HASHES;
}

/* Takes p. */
static void add(struct needles *s, char *p, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].n == n && memcmp(s->list[i].p, p, n) == 0)
			n = 0;
	if (n < NEEDLE_MIN || s->n == NEEDLES_MAX) {
		explicit_bzero(p, n);
		free(p);
		return;
	}
	s->list[s->n++] = (struct needle){.p = p, .n = n, .next = NONE};
}

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The characters that hold bits of the text alone, when `before` bytes stand before it. */
static void add_base64(struct needles *s, struct text t, size_t before, const char *alphabet)
{
	size_t from = (before * 8 + 5) / 6, to = (before + t.n) * 8 / 6, o = 0;
	char *p = xmalloc(to - from + 1);

	for (size_t i = from; i < to; i++) {
		unsigned int six = 0;

		for (size_t bit = i * 6; bit < i * 6 + 6; bit++) {
			size_t at = bit / 8 - before;

			six = six << 1 | ((unsigned char)t.p[at] >> (7 - bit % 8) & 1);
		}
		p[o++] = alphabet[six];
	}
	add(s, p, o);
}

static void add_buf(struct needles *s, struct buf *b)
{
	size_t n = b->len;

	if (n)
		add(s, buf_take(b), n);
	buf_done(b);
}

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void add_url(struct needles *s, struct text t, const char *digits)
{
	struct buf b;

	buf_init(&b, t.n * 3 + 1);
	for (size_t i = 0; i < t.n; i++) {
		unsigned char c = (unsigned char)t.p[i];

		if (is_unreserved(t.p[i])) {
			(void)buf_putc(&b, t.p[i]);
			continue;
		}
		(void)buf_putc(&b, '%');
		(void)buf_putc(&b, digits[c >> 4]);
		(void)buf_putc(&b, digits[c & 15]);
	}
	add_buf(s, &b);
}

static void add_json(struct needles *s, struct text t, bool slashes)
{
	struct buf b;

	buf_init(&b, t.n * 2 + 1);
	for (size_t i = 0; i < t.n; i++) {
		char c = t.p[i];

		if (c == '"' || c == '\\' || (c == '/' && slashes))
			(void)buf_putc(&b, '\\');
		(void)buf_putc(&b, c);
	}
	add_buf(s, &b);
}

static void add_text(struct needles *s, const char *text)
{
	struct text t = {text, strlen(text)};
	char *p = xstrdup(text);

	if (t.n < NEEDLE_MIN) {
		free(p);
		return;
	}
	add(s, p, t.n);
	for (size_t before = 0; before < 3; before++) {
		add_base64(s, t, before, standard);
		add_base64(s, t, before, for_urls);
	}
	add_url(s, t, "0123456789ABCDEF");
	add_url(s, t, "0123456789abcdef");
	add_json(s, t, false);
	add_json(s, t, true);
}

static void index_needles(struct needles *s)
{
	size_t far;

	s->window = SIZE_MAX;
	for (size_t i = 0; i < s->n; i++) {
		unsigned char c = (unsigned char)s->list[i].p[0];

		s->window = s->list[i].n < s->window ? s->list[i].n : s->window;
		s->longest = s->list[i].n > s->longest ? s->list[i].n : s->longest;
		s->begins[c / 64] |= (uint64_t)1 << (c % 64);
		for (size_t at = 0; at < s->list[i].n; at++) {
			c = (unsigned char)s->list[i].p[at];
			s->holds[c / 64] |= (uint64_t)1 << (c % 64);
		}
	}
	if (s->window > UINT8_MAX)
		s->window = UINT8_MAX;
	far = s->window - BLOCK + 1;
	memset(s->shift, (int)far, sizeof(s->shift));
	memset(s->first, 0xff, sizeof(s->first));
	for (size_t i = 0; i < s->n; i++)
		for (size_t at = 0; at + BLOCK <= s->window; at++) {
			unsigned int h = hash(s->list[i].p + at);
			size_t left = s->window - BLOCK - at;

			if (left < s->shift[h])
				s->shift[h] = (uint8_t)left;
			if (left == 0) {
				s->list[i].next = s->first[h];
				s->first[h] = (uint16_t)i;
			}
		}
}

struct needles *needles_new(const char *const *texts, size_t n)
{
	struct needles *s = xcalloc(1, sizeof(*s));

	s->refs = 1;
	for (size_t i = 0; i < n; i++)
		add_text(s, texts[i]);
	if (s->n == 0)
		return needles_unref(s);
	index_needles(s);
	return s;
}

struct needles *needles_ref(struct needles *s)
{
	if (s)
		s->refs++;
	return s;
}

struct needles *needles_unref(struct needles *s)
{
	if (!s || --s->refs)
		return NULL;
	for (size_t i = 0; i < s->n; i++) {
		explicit_bzero(s->list[i].p, s->list[i].n);
		free(s->list[i].p);
	}
	free(s);
	return NULL;
}

size_t needles_longest(const struct needles *s)
{
	return s->longest;
}

/* The longest of those whose window ends with this block and that stand at p. */
static size_t match(const struct needles *s, uint16_t i, const char *p, size_t n)
{
	size_t len = 0;

	for (; i != NONE; i = s->list[i].next) {
		const struct needle *d = &s->list[i];

		if (d->n <= n && d->n > len && memcmp(d->p, p, d->n) == 0)
			len = d->n;
	}
	return len;
}

size_t needles_at(const struct needles *s, const char *p, size_t n)
{
	unsigned int h = n >= s->window ? hash(p + s->window - BLOCK) : 0;

	return n >= s->window && s->shift[h] == 0 ? match(s, s->first[h], p, n) : 0;
}

size_t needles_find(const struct needles *s, const char *p, size_t n, size_t *ret_len)
{
	size_t at = 0;

	while (at + s->window <= n) {
		unsigned int h = hash(p + at + s->window - BLOCK);

		if (s->shift[h]) {
			at += s->shift[h];
			continue;
		}
		*ret_len = match(s, s->first[h], p + at, n - at);
		if (*ret_len)
			return at;
		at++;
	}
	*ret_len = 0;
	return n;
}

static bool has(const uint64_t *set, char c)
{
	unsigned char u = (unsigned char)c;

	return set[u / 64] >> (u % 64) & 1;
}

size_t needles_tail(const struct needles *s, const char *p, size_t n)
{
	size_t least = n > s->longest - 1 ? n - (s->longest - 1) : 0, at = n;

	/* Mostly the last byte is in none of them: the end of a line, of an object. */
	while (at > least && has(s->holds, p[at - 1]))
		at--;
	for (; at < n; at++) {
		if (!has(s->begins, p[at]))
			continue;
		for (size_t i = 0; i < s->n; i++)
			if (s->list[i].n > n - at && memcmp(s->list[i].p, p + at, n - at) == 0)
				return n - at;
	}
	return 0;
}
