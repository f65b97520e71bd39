#include "base/jscan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* behind '[' */
	EXPECT_KEY,
	EXPECT_KEY_OR_END, /* behind '{' */
	EXPECT_COLON,
	EXPECT_NEXT, /* ',' or the end of what is open */
	EXPECT_NOTHING,
	EXPECT_BAD,
};

/* A token that the end of a feed has cut. */
enum partial { PARTIAL_NONE, PARTIAL_STRING, PARTIAL_BARE };

void jscan_init(struct jscan *j)
{
	/* arrays[] and held[] are only read as far as they were written. */
	memset(j, 0, offsetof(struct jscan, arrays));
}

void jscan_feed(struct jscan *j, const char *p, size_t n, bool last)
{
	j->p = p;
	j->end = p + n;
	j->last = last;
}

static enum jscan_token bad(struct jscan *j)
{
	j->expect = EXPECT_BAD;
	return JSCAN_BAD;
}

static bool in_array(const struct jscan *j)
{
	unsigned int level = j->depth - 1;

	return j->arrays[level / 64] >> (level % 64) & 1;
}

/* A value has ended at this depth. */
static void value_over(struct jscan *j)
{
	j->expect = j->depth ? EXPECT_NEXT : EXPECT_NOTHING;
}

static enum jscan_token open_level(struct jscan *j, bool array)
{
	uint64_t bit = (uint64_t)1 << (j->depth % 64);

	if (j->depth == JSCAN_DEPTH_MAX)
		return bad(j);
	if (j->depth % 64 == 0)
		j->arrays[j->depth / 64] = 0;
	if (array)
		j->arrays[j->depth / 64] |= bit;
	else
		j->arrays[j->depth / 64] &= ~bit;
	j->depth++;
	j->expect = array ? EXPECT_VALUE_OR_END : EXPECT_KEY_OR_END;
	return array ? JSCAN_ARRAY : JSCAN_OBJECT;
}

static enum jscan_token close_level(struct jscan *j, bool array)
{
	if (j->depth == 0 || in_array(j) != array)
		return bad(j);
	j->depth--;
	value_over(j);
	return array ? JSCAN_ARRAY_END : JSCAN_OBJECT_END;
}

/* Up to the first quote or backslash, eight bytes at a time. */
static const char *plain_span(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;

	while (end - p >= 8) {
		uint64_t w, quote, slash, marks;

		memcpy(&w, p, 8);
		w = le64toh(w);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		marks = (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & high;
		/* The lowest mark is exact: only a marked byte can borrow from the one behind. */
		if (marks)
			return p + __builtin_ctzll(marks) / 8;
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static void hold(struct jscan *j, const char *p, size_t n)
{
	size_t room = JSCAN_HELD_MAX - j->n_held;

	if (n > room) {
		n = room;
		j->cut = true;
	}
	memcpy(j->held + j->n_held, p, n);
	j->n_held += n;
}

/* The token from `from` up to j->p, or its end if the beginning is held. */
static void set_text(struct jscan *j, const char *from)
{
	if (j->partial == PARTIAL_NONE) {
		j->text = from;
		j->len = (size_t)(j->p - from);
		return;
	}
	hold(j, from, (size_t)(j->p - from));
	j->text = j->held;
	j->len = j->n_held;
	j->partial = PARTIAL_NONE;
}

static enum jscan_token wait_for_more(struct jscan *j, const char *from, enum partial partial)
{
	if (j->partial == PARTIAL_NONE)
		j->n_held = 0;
	j->partial = partial;
	hold(j, from, (size_t)(j->p - from));
	return JSCAN_MORE;
}

/* Behind the opening quote, or where the last feed cut it. */
static enum jscan_token read_string(struct jscan *j)
{
	const char *from = j->p;

	if (j->backslash && j->p < j->end) {
		j->p++;
		j->backslash = false;
	}
	for (;;) {
		j->p = plain_span(j->p, j->end);
		if (j->p == j->end)
			return wait_for_more(j, from, PARTIAL_STRING);
		if (*j->p == '"')
			break;
		j->escaped = true;
		j->p++;
		if (j->p == j->end) {
			j->backslash = true;
			return wait_for_more(j, from, PARTIAL_STRING);
		}
		j->p++;
	}
	set_text(j, from);
	j->p++;
	if (j->is_key) {
		j->expect = EXPECT_COLON;
		return JSCAN_KEY;
	}
	value_over(j);
	return JSCAN_STRING;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && is_digit(p[i]))
		i++;
	return i;
}

static bool is_number(const char *p, size_t n)
{
	size_t i = n && p[0] == '-', d = digits(p + i, n - i);

	if (d == 0 || (d > 1 && p[i] == '0'))
		return false;
	i += d;
	if (i < n && p[i] == '.') {
		d = digits(p + i + 1, n - i - 1);
		if (d == 0)
			return false;
		i += 1 + d;
	}
	if (i < n && (p[i] | 0x20) == 'e') {
		i++;
		if (i < n && (p[i] == '+' || p[i] == '-'))
			i++;
		d = digits(p + i, n - i);
		if (d == 0)
			return false;
		i += d;
	}
	return i == n;
}

static enum jscan_token bare_token(const struct jscan *j)
{
	if (is_number(j->text, j->len))
		return JSCAN_NUMBER;
	if (j->len == 4 && memcmp(j->text, "true", 4) == 0)
		return JSCAN_TRUE;
	if (j->len == 5 && memcmp(j->text, "false", 5) == 0)
		return JSCAN_FALSE;
	return j->len == 4 && memcmp(j->text, "null", 4) == 0 ? JSCAN_NULL : JSCAN_BAD;
}

static bool is_bare(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
	       c == 'E';
}

/* A number or a word: it ends where something else begins. */
static enum jscan_token read_bare(struct jscan *j)
{
	const char *from = j->p;
	enum jscan_token t;

	while (j->p < j->end && is_bare(*j->p))
		j->p++;
	if (j->p == j->end && !j->last)
		return wait_for_more(j, from, PARTIAL_BARE);
	set_text(j, from);
	t = j->cut ? JSCAN_BAD : bare_token(j);
	if (t < 0)
		return bad(j);
	value_over(j);
	return t;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static enum jscan_token begin_string(struct jscan *j, bool is_key)
{
	j->p++;
	j->is_key = is_key;
	j->escaped = j->cut = j->backslash = false;
	return read_string(j);
}

static enum jscan_token read_value(struct jscan *j)
{
	char c = *j->p;

	switch (c) {
	case '"':
		return begin_string(j, false);
	case '{':
	case '[':
		j->p++;
		return open_level(j, c == '[');
	case ']':
		if (j->expect != EXPECT_VALUE_OR_END)
			return bad(j);
		j->p++;
		return close_level(j, true);
	default:
		if (!is_bare(c))
			return bad(j);
		j->escaped = j->cut = false;
		return read_bare(j);
	}
}

static enum jscan_token read_key(struct jscan *j)
{
	if (*j->p == '"')
		return begin_string(j, true);
	if (*j->p != '}' || j->expect != EXPECT_KEY_OR_END)
		return bad(j);
	j->p++;
	return close_level(j, false);
}

/* ',' and ':' are no tokens: JSCAN_DONE stands for "go on". */
static enum jscan_token read_next(struct jscan *j)
{
	char c = *j->p++;

	if (c == ',') {
		j->expect = in_array(j) ? EXPECT_VALUE : EXPECT_KEY;
		return JSCAN_DONE;
	}
	return c == '}' || c == ']' ? close_level(j, c == ']') : bad(j);
}

/* Nothing is left of what was fed. */
static enum jscan_token at_end(struct jscan *j)
{
	if (j->expect == EXPECT_NOTHING)
		return JSCAN_DONE;
	return j->last ? bad(j) : JSCAN_MORE;
}

static enum jscan_token step(struct jscan *j)
{
	enum jscan_token t = JSCAN_DONE;

	if (j->partial == PARTIAL_STRING)
		t = read_string(j);
	else if (j->partial == PARTIAL_BARE)
		t = read_bare(j);
	while (t == JSCAN_DONE) {
		while (j->p < j->end && is_blank(*j->p))
			j->p++;
		if (j->expect == EXPECT_NOTHING)
			return JSCAN_DONE;
		if (j->p == j->end)
			return at_end(j);
		switch ((enum expect)j->expect) {
		case EXPECT_VALUE:
		case EXPECT_VALUE_OR_END:
			t = read_value(j);
			break;
		case EXPECT_KEY:
		case EXPECT_KEY_OR_END:
			t = read_key(j);
			break;
		case EXPECT_COLON:
			if (*j->p++ != ':')
				return bad(j);
			j->expect = EXPECT_VALUE;
			break;
		case EXPECT_NEXT:
			t = read_next(j);
			break;
		case EXPECT_NOTHING:
		case EXPECT_BAD:
			return bad(j);
		}
	}
	/* A string without an end. */
	return t == JSCAN_MORE && j->last ? bad(j) : t;
}

static bool ends_value(enum jscan_token t)
{
	return t != JSCAN_OBJECT && t != JSCAN_ARRAY && t != JSCAN_KEY;
}

enum jscan_token jscan_next(struct jscan *j)
{
	enum jscan_token t;

	if (j->expect == EXPECT_BAD)
		return JSCAN_BAD;
	for (;;) {
		t = step(j);
		if (!j->skipping || t <= 0)
			return t;
		if (ends_value(t) && j->depth == j->skip_to)
			j->skipping = false;
	}
}

void jscan_skip(struct jscan *j)
{
	bool opened = j->expect == EXPECT_VALUE_OR_END || j->expect == EXPECT_KEY_OR_END;

	j->skipping = true;
	j->skip_to = opened ? j->depth - 1 : j->depth;
}

bool jscan_is(const struct jscan *j, const char *s)
{
	char plain[JSCAN_HELD_MAX];
	size_t n = strlen(s);
	ssize_t got;

	if (j->cut || j->len < n)
		return false;
	if (!j->escaped)
		return j->len == n && memcmp(j->text, s, n) == 0;
	if (j->len > sizeof(plain))
		return false;
	got = jscan_unescape(j->text, j->len, plain);
	return got == (ssize_t)n && memcmp(plain, s, n) == 0;
}

int jscan_uint(const struct jscan *j, uint64_t *ret)
{
	uint64_t v = 0;

	if (j->len == 0 || digits(j->text, j->len) != j->len)
		return -EINVAL;
	for (size_t i = 0; i < j->len; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(j->text[i] - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	return 0;
}

static int hex4(const char *p, size_t n, unsigned int *ret)
{
	unsigned int v = 0;

	if (n < 4)
		return -EINVAL;
	for (size_t i = 0; i < 4; i++) {
		char c = p[i];

		v <<= 4;
		if (is_digit(c))
			v |= (unsigned int)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v |= (unsigned int)((c | 0x20) - 'a' + 10);
		else
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

static size_t put_utf8(unsigned int c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Behind "\u"; the bytes of the escape that were read, or -EINVAL. */
static ssize_t unescape_u(const char *p, size_t n, char *out, size_t *ret_n)
{
	unsigned int c, low;

	if (hex4(p, n, &c) < 0)
		return -EINVAL;
	if (c >= 0xd800 && c < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u' &&
	    hex4(p + 6, n - 6, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
		*ret_n = put_utf8(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), out);
		return 10;
	}
	*ret_n = put_utf8(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, out);
	return 4;
}

ssize_t jscan_unescape(const char *p, size_t n, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t o = 0, i = 0;

	while (i < n) {
		const char *known;
		size_t put;
		ssize_t r;

		if (p[i] != '\\') {
			out[o++] = p[i++];
			continue;
		}
		if (++i == n)
			return -EINVAL;
		if (p[i] == 'u') {
			r = unescape_u(p + i + 1, n - i - 1, out + o, &put);
			if (r < 0)
				return r;
			i += 1 + (size_t)r;
			o += put;
			continue;
		}
		known = p[i] ? strchr(from, p[i]) : NULL;
		if (!known)
			return -EINVAL;
		out[o++] = to[known - from];
		i++;
	}
	return (ssize_t)o;
}
