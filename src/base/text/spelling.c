#include "base/text/spelling.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* The value of each digit, plus 1. */
/* clang-format off */
static const uint8_t six[256] = {
	['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
	['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15,
	['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22,
	['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29,
	['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
	['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43,
	['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50,
	['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56, ['4'] = 57,
	['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['-'] = 63,
	['/'] = 64, ['_'] = 64,
};

static const uint8_t four[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['A'] = 11, ['b'] = 12, ['B'] = 12, ['c'] = 13,
	['C'] = 13, ['d'] = 14, ['D'] = 14, ['e'] = 15, ['E'] = 15, ['f'] = 16, ['F'] = 16,
};
/* clang-format on */

size_t spelling_squeeze(const char *p, size_t n, char *out)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		out[o] = p[i];
		o += p[i] != '\0' && p[i] != '\n' && p[i] != '\r';
	}
	return o;
}

static size_t span(const uint8_t *digits, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && digits[(unsigned char)p[i]])
		i++;
	return i;
}

size_t spelling_base64_span(const char *p, size_t n)
{
	return span(six, p, n);
}

size_t spelling_hex_span(const char *p, size_t n)
{
	return span(four, p, n);
}

static unsigned int six_at(const char *p)
{
	return six[(unsigned char)*p] - 1u;
}

size_t spelling_base64(const char *p, size_t n, size_t skip, char *out)
{
	size_t o = 0, i = skip;

	for (; i + 4 <= n; i += 4) {
		unsigned int v = six_at(p + i) << 18 | six_at(p + i + 1) << 12 |
				 six_at(p + i + 2) << 6 | six_at(p + i + 3);

		out[o++] = (char)(v >> 16);
		out[o++] = (char)(v >> 8);
		out[o++] = (char)v;
	}
	if (i + 2 <= n)
		out[o++] = (char)(six_at(p + i) << 2 | six_at(p + i + 1) >> 4);
	if (i + 3 <= n)
		out[o++] = (char)(six_at(p + i + 1) << 4 | six_at(p + i + 2) >> 2);
	return o;
}

static unsigned int four_at(const char *p)
{
	return four[(unsigned char)*p] - 1u;
}

size_t spelling_hex(const char *p, size_t n, size_t skip, char *out)
{
	size_t o = 0;

	for (size_t i = skip; i + 2 <= n; i += 2)
		out[o++] = (char)(four_at(p + i) << 4 | four_at(p + i + 1));
	return o;
}

struct reader {
	const char *p;
	size_t n;
	char *out;
	size_t o;
};

/* No escape is shorter than the UTF-8 of what it stands for. */
static size_t put(struct reader *r, uint32_t c, size_t used)
{
	if (c < 0x80) {
		r->out[r->o++] = (char)c;
	} else if (c < 0x800) {
		r->out[r->o++] = (char)(0xc0 | c >> 6);
		r->out[r->o++] = (char)(0x80 | (c & 0x3f));
	} else {
		r->out[r->o++] = (char)(0xe0 | (c >> 12 & 0xf));
		r->out[r->o++] = (char)(0x80 | (c >> 6 & 0x3f));
		r->out[r->o++] = (char)(0x80 | (c & 0x3f));
	}
	return used;
}

/* Reads `digits` hexadecimal digits at `at`; false: there are fewer. */
static bool hex_at(const struct reader *r, size_t at, size_t digits, uint32_t *ret)
{
	*ret = 0;
	if (r->n < at + digits || spelling_hex_span(r->p + at, digits) < digits)
		return false;
	for (size_t i = at; i < at + digits; i++)
		*ret = *ret << 4 | four_at(r->p + i);
	return true;
}

/* Takes one byte as it stands, as %XX has it: it may be a part of UTF-8. */
static size_t put_byte(struct reader *r, uint32_t c, size_t used)
{
	r->out[r->o++] = (char)c;
	return used;
}

/* The character behind a backslash stands for this one. */
static char control(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

static size_t backslash(struct reader *r)
{
	uint32_t c;

	if (r->n < 2)
		return put_byte(r, '\\', 1);
	if (r->p[1] == 'u' && hex_at(r, 2, 4, &c))
		return put(r, c, 6);
	if (r->p[1] == 'x' && hex_at(r, 2, 2, &c))
		return put_byte(r, c, 4);
	return put_byte(r, (unsigned char)control(r->p[1]), 2);
}

/* "#115;" and "#x73;"; leading zeros do not count. 0: none. */
static size_t number(struct reader *r)
{
	bool hex = r->n > 2 && (r->p[2] | 0x20) == 'x';
	size_t at = hex ? 3 : 2, end = at;
	uint32_t c = 0;

	while (end < r->n && c < 0x10000 && four[(unsigned char)r->p[end]] &&
	       (hex || four_at(r->p + end) < 10))
		c = c * (hex ? 16 : 10) + four_at(r->p + end++);
	if (end == at || end == r->n || r->p[end] != ';' || c > 0xffff)
		return 0;
	return put(r, c, end + 1);
}

static size_t entity(struct reader *r)
{
	static const struct {
		const char *name;
		char c;
	} names[] = {{"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}, {"lt;", '<'}, {"gt;", '>'}};
	size_t used = r->n > 1 && r->p[1] == '#' ? number(r) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !used; i++) {
		size_t len = strlen(names[i].name);

		if (r->n > len && memcmp(r->p + 1, names[i].name, len) == 0)
			used = put_byte(r, (unsigned char)names[i].c, len + 1);
	}
	return used ? used : put_byte(r, '&', 1);
}

static size_t percent(struct reader *r)
{
	uint32_t c;

	return hex_at(r, 1, 2, &c) ? put_byte(r, c, 3) : put_byte(r, '%', 1);
}

size_t spelling_unescape(const char *p, size_t n, char escape, char *out)
{
	struct reader r = {p, n, out, 0};

	while (r.n) {
		size_t used;

		if (*r.p != escape)
			used = put_byte(&r, (unsigned char)*r.p, 1);
		else if (escape == '%')
			used = percent(&r);
		else
			used = escape == '\\' ? backslash(&r) : entity(&r);
		r.p += used;
		r.n -= used;
	}
	return r.o;
}
