/* Strings, keys, numbers and words, which the input may cut anywhere. */
#include "base/json/jscan-parts.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define REPLACEMENT 0xfffd /* stands for half a surrogate pair */

static const char *const words[] = {"true", "false", "null"};
static const enum jscan_token word_tokens[] = {JSCAN_TRUE, JSCAN_FALSE, JSCAN_NULL};

static enum jscan_token give(struct jscan *j, enum jscan_token t, const char *text, size_t len)
{
	j->text = text;
	j->len = len;
	return t;
}

/* Returns the first quote, backslash or control character from p on, or end. */
static const char *plain(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i last_control = _mm_set1_epi8(0x1f);

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
		int mask;

		hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(v, last_control), v));
		mask = _mm_movemask_epi8(hit);
		if (mask)
			return p + __builtin_ctz((unsigned int)mask);
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* A whole \uXXXX is in j->hex; what it gives, at most two characters, goes to `to`. */
static size_t unicode(struct jscan *j, char *to)
{
	uint32_t c = j->hex;
	size_t n = 0;

	if (j->high) {
		bool pair = c >= 0xdc00 && c < 0xe000;

		n = put_utf8(to, pair ? 0x10000 + ((j->high - 0xd800U) << 10) + (c - 0xdc00)
				      : REPLACEMENT);
		j->high = 0;
		if (pair)
			return n;
	}
	if (c >= 0xd800 && c < 0xdc00) {
		j->high = (uint16_t)c;
		return n;
	}
	return n + put_utf8(to + n, c >= 0xdc00 && c < 0xe000 ? REPLACEMENT : c);
}

/* The character behind a backslash; -1: there is no such escape, 0: \u. */
static int escaped(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		return 0;
	default:
		return -1;
	}
}

/*
 * Takes one byte of an escape, which may be cut anywhere. The characters that it completes go to
 * `to` (at most two, in UTF-8). Returns their length, or -1.
 */
static int escape_byte(struct jscan *j, char c, char *to)
{
	int e;

	if (j->hex_left) {
		int d = hex_digit(c);

		if (d < 0)
			return -1;
		j->hex = (uint16_t)(j->hex << 4 | d);
		if (--j->hex_left)
			return 0;
		j->escape = false;
		return (int)unicode(j, to);
	}
	e = escaped(c);
	if (e < 0)
		return -1;
	if (e == 0) {
		j->hex = 0;
		j->hex_left = 4;
		return 0;
	}
	j->escape = false;
	if (j->high) { /* \ud800\n: the half pair comes first */
		int n = (int)put_utf8(to, REPLACEMENT);

		j->high = 0;
		to[n] = (char)e;
		return n + 1;
	}
	to[0] = (char)e;
	return 1;
}

/* Half a pair that nothing follows. */
static size_t lone(struct jscan *j, char *to)
{
	if (!j->high)
		return 0;
	j->high = 0;
	return put_utf8(to, REPLACEMENT);
}

/* A piece of a string. Escapes in a row make one piece, in j->small. */
enum jscan_token jscan_string(struct jscan *j)
{
	const char *from;
	size_t n = 0;

	j->last = false;
	while (j->p < j->end && n + 8 < sizeof(j->small)) {
		char c = *j->p;
		int added;

		if (!j->escape && c != '\\')
			break;
		j->p++;
		if (!j->escape) {
			j->escape = true;
			continue;
		}
		added = escape_byte(j, c, j->small + n);
		if (added < 0)
			return jscan_fail(j);
		n += (size_t)added;
	}
	if (n == 0 && !j->escape && j->p < j->end)
		n = lone(j, j->small);
	if (n)
		return give(j, JSCAN_STRING, j->small, n);
	from = j->p;
	if (!j->escape)
		j->p = plain(j->p, j->end);
	if (j->p == j->end)
		return j->p > from ? give(j, JSCAN_STRING, from, (size_t)(j->p - from))
				   : JSCAN_MORE;
	if (*j->p == '"') {
		j->last = true;
		jscan_value_over(j);
		(void)give(j, JSCAN_STRING, from, (size_t)(j->p - from));
		j->p++;
		return JSCAN_STRING;
	}
	if (*j->p != '\\')
		return jscan_fail(j); /* a control character */
	return give(j, JSCAN_STRING, from, (size_t)(j->p - from));
}

static void keep(struct jscan *j, const char *text, size_t n)
{
	size_t room = JSCAN_SHORT - j->keep;

	if (n > room) {
		n = room;
		j->cut = true;
	}
	memcpy(j->small + j->keep, text, n);
	j->keep += (unsigned int)n;
}

/* Whole in the input, as most are, a key is given out where it lies. */
enum jscan_token jscan_key(struct jscan *j)
{
	char decoded[8];

	for (;;) {
		const char *from = j->p;
		int n;

		if (j->p == j->end)
			return JSCAN_MORE;
		if (j->escape) {
			n = escape_byte(j, *j->p++, decoded);
			if (n < 0)
				return jscan_fail(j);
			keep(j, decoded, (size_t)n);
			continue;
		}
		if (*j->p == '\\') {
			j->escape = true;
			j->p++;
			continue;
		}
		keep(j, decoded, lone(j, decoded));
		j->p = plain(j->p, j->end);
		if (j->p < j->end && *j->p == '"') {
			j->p++;
			j->state = COLON;
			if (j->keep == 0 && j->p - from - 1 <= JSCAN_SHORT)
				return give(j, JSCAN_KEY, from, (size_t)(j->p - from - 1));
			keep(j, from, (size_t)(j->p - from - 1));
			return give(j, JSCAN_KEY, j->small, j->keep);
		}
		keep(j, from, (size_t)(j->p - from));
		if (j->p < j->end && *j->p != '\\')
			return jscan_fail(j);
	}
}

static const char *digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

bool jscan_is_number(const char *p)
{
	const char *from;

	if (*p == '-')
		p++;
	from = p;
	p = digits(p);
	if (p == from || (*from == '0' && p > from + 1))
		return false;
	if (*p == '.') {
		from = ++p;
		p = digits(p);
		if (p == from)
			return false;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '+' || *p == '-')
			p++;
		from = p;
		p = digits(p);
		if (p == from)
			return false;
	}
	return *p == '\0';
}

static bool may_be_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

enum jscan_token jscan_number(struct jscan *j)
{
	const char *from = j->p;

	while (j->p < j->end && may_be_number(*j->p))
		j->p++;
	keep(j, from, (size_t)(j->p - from));
	if (j->p == j->end && !j->cut)
		return JSCAN_MORE;
	j->small[j->keep] = '\0';
	if (j->cut || !jscan_is_number(j->small))
		return jscan_fail(j);
	jscan_value_over(j);
	return give(j, JSCAN_NUMBER, j->small, j->keep);
}

enum jscan_token jscan_word(struct jscan *j)
{
	const char *w = words[j->word];

	while (j->p < j->end && w[j->word_at]) {
		if (*j->p++ != w[j->word_at++])
			return jscan_fail(j);
	}
	if (w[j->word_at])
		return JSCAN_MORE;
	jscan_value_over(j);
	return word_tokens[j->word];
}
