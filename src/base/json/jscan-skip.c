/*
 * Skips values of no interest: it follows only quotes and brackets, as fast as memchr() finds them.
 */
#include "base/json/jscan-parts.h"

#include <string.h>

/* Returns the byte after the string that p is in, or NULL when its end is not in the input yet. */
static const char *behind_string(struct jscan *j)
{
	const char *p = j->p;

	if (j->escape && p < j->end) {
		j->escape = false;
		p++;
	}
	for (;;) {
		const char *q = memchr(p, '"', (size_t)(j->end - p)), *stop = q ? q : j->end;
		const char *back = stop;

		while (back > p && back[-1] == '\\')
			back--;
		if (!q) {
			j->escape = (stop - back) % 2;
			j->p = j->end;
			return NULL;
		}
		p = q + 1;
		if ((stop - back) % 2 == 0)
			return p;
	}
}

/* Follows brackets and quotes only; true when everything that was open has closed. */
static bool nested_over(struct jscan *j)
{
	while (j->p < j->end) {
		if (j->in_string) {
			const char *p = behind_string(j);

			if (!p)
				return false;
			j->in_string = false;
			j->p = p;
			continue;
		}
		switch (*j->p++) {
		case '"':
			j->in_string = true;
			break;
		case '{':
		case '[':
			j->keep++;
			break;
		case '}':
		case ']':
			if (--j->keep == 0)
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

static enum jscan_token skipped(struct jscan *j)
{
	j->skipping = SKIP_NOTHING;
	j->text = "";
	j->len = 0;
	jscan_value_over(j);
	return JSCAN_SKIPPED;
}

static void skip_nested(struct jscan *j)
{
	j->skipping = SKIP_NESTED;
	j->keep = 1;
	j->in_string = j->escape = false;
}

/* The value of a key: what begins it decides how it is skipped. */
static enum jscan_token skip_value(struct jscan *j)
{
	enum jscan_token t;

	while ((j->state == COLON || j->state == VALUE) && jscan_space(j)) {
		char c = *j->p;

		if (j->state == VALUE && (c == '{' || c == '[' || c == '"')) {
			j->p++;
			j->escape = false;
			if (c == '"')
				j->skipping = SKIP_STRING;
			else
				skip_nested(j);
			return JSCAN_MORE;
		}
		t = jscan_structure(j, *j->p++);
		if (t == JSCAN_ERROR)
			return t;
		if (t != JSCAN_MORE)
			return skipped(j);
	}
	if (j->state == COLON || j->state == VALUE)
		return JSCAN_MORE;
	t = jscan_ordinary(j); /* the rest of a number or word */
	return t == JSCAN_MORE || t == JSCAN_ERROR ? t : skipped(j);
}

void jscan_skip(struct jscan *j)
{
	switch (j->state) {
	case COLON:
		j->skipping = SKIP_VALUE;
		break;
	case FIRST_KEY:
	case FIRST_VALUE:
		j->depth--;
		skip_nested(j);
		break;
	case IN_STRING:
		j->skipping = SKIP_STRING;
		break;
	default:
		break;
	}
}

enum jscan_token jscan_skipping(struct jscan *j)
{
	const char *p;

	if (j->skipping == SKIP_VALUE) {
		enum jscan_token t = skip_value(j);

		if (t != JSCAN_MORE || j->skipping == SKIP_VALUE)
			return t;
	}
	if (j->skipping == SKIP_NESTED)
		return nested_over(j) ? skipped(j) : JSCAN_MORE;
	p = behind_string(j);
	if (!p)
		return JSCAN_MORE;
	j->p = p;
	return skipped(j);
}
