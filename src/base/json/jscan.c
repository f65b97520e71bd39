#include "base/json/jscan.h"

#include <string.h>

#include "base/json/jscan-parts.h"

void jscan_init(struct jscan *j)
{
	*j = (struct jscan){.state = BETWEEN};
}

void jscan_feed(struct jscan *j, const char *data, size_t len)
{
	j->p = data;
	j->end = data + len;
}

bool jscan_is(const struct jscan *j, const char *s)
{
	size_t n = strlen(s);

	return !j->cut && j->len == n && memcmp(j->text, s, n) == 0;
}

bool jscan_uint(const struct jscan *j, uint64_t *ret)
{
	uint64_t v = 0;

	if (j->len == 0)
		return false;
	for (size_t i = 0; i < j->len; i++) {
		unsigned int digit = (unsigned char)j->text[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

static bool in_object(const struct jscan *j)
{
	unsigned int d = j->depth - 1;

	return j->objects[d / 64] >> (d % 64) & 1;
}

static enum jscan_token open_nested(struct jscan *j, bool object)
{
	uint64_t bit = (uint64_t)1 << (j->depth % 64);

	if (j->depth == JSCAN_DEPTH)
		return jscan_fail(j);
	if (object)
		j->objects[j->depth / 64] |= bit;
	else
		j->objects[j->depth / 64] &= ~bit;
	j->depth++;
	j->state = object ? FIRST_KEY : FIRST_VALUE;
	return object ? JSCAN_OBJECT : JSCAN_ARRAY;
}

static enum jscan_token close_nested(struct jscan *j, bool object)
{
	if (j->depth == 0 || in_object(j) != object)
		return jscan_fail(j);
	j->depth--;
	jscan_value_over(j);
	return object ? JSCAN_OBJECT_END : JSCAN_ARRAY_END;
}

static void begin_text(struct jscan *j, enum jscan_state s)
{
	j->state = s;
	j->keep = 0;
	j->cut = j->escape = false;
	j->high = 0;
	j->hex_left = 0;
}

/* The first byte of a value. */
static enum jscan_token value(struct jscan *j, char c)
{
	switch (c) {
	case '{':
	case '[':
		return open_nested(j, c == '{');
	case '"':
		begin_text(j, IN_STRING);
		return jscan_string(j);
	case 't':
	case 'f':
	case 'n':
		j->state = IN_WORD;
		j->word = c == 't' ? 0 : c == 'f' ? 1 : 2;
		j->word_at = 1;
		return jscan_word(j);
	default:
		if (c != '-' && (c < '0' || c > '9'))
			return jscan_fail(j);
		begin_text(j, IN_NUMBER);
		j->p--;
		return jscan_number(j);
	}
}

static enum jscan_token key_begins(struct jscan *j, char c)
{
	if (c != '"')
		return jscan_fail(j);
	begin_text(j, IN_KEY);
	return jscan_key(j);
}

/* The first byte of what comes next; JSCAN_MORE here with input left: go on with the next byte. */
enum jscan_token jscan_structure(struct jscan *j, char c)
{
	switch (j->state) {
	case FIRST_VALUE:
		if (c == ']')
			return close_nested(j, false);
		return value(j, c);
	case BETWEEN:
	case VALUE:
		return value(j, c);
	case FIRST_KEY:
		if (c == '}')
			return close_nested(j, true);
		return key_begins(j, c);
	case KEY:
		return key_begins(j, c);
	case COLON:
		if (c != ':')
			return jscan_fail(j);
		j->state = VALUE;
		return JSCAN_MORE;
	case AFTER:
		if (c == '}' || c == ']')
			return close_nested(j, c == '}');
		if (c != ',')
			return jscan_fail(j);
		j->state = in_object(j) ? KEY : VALUE;
		return JSCAN_MORE;
	default:
		return jscan_fail(j);
	}
}

enum jscan_token jscan_ordinary(struct jscan *j)
{
	enum jscan_token t = JSCAN_MORE;

	switch (j->state) {
	case IN_KEY:
		return jscan_key(j);
	case IN_STRING:
		return jscan_string(j);
	case IN_NUMBER:
		return jscan_number(j);
	case IN_WORD:
		return jscan_word(j);
	case FAILED:
		return JSCAN_ERROR;
	default:
		break;
	}
	while (t == JSCAN_MORE && jscan_space(j))
		t = jscan_structure(j, *j->p++);
	return t;
}

enum jscan_token jscan_next(struct jscan *j)
{
	j->text = "";
	j->len = 0;
	return j->skipping ? jscan_skipping(j) : jscan_ordinary(j);
}

bool jscan_end(const struct jscan *j)
{
	char text[JSCAN_SHORT + 1];

	if (j->depth || j->skipping)
		return false;
	if (j->state != IN_NUMBER)
		return j->state == BETWEEN;
	memcpy(text, j->small, j->keep);
	text[j->keep] = '\0';
	return jscan_is_number(text);
}
