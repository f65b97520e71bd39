/* Splits a value of a word into fields, and expands its braces. */
#include "hook/shell/expand.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "hook/shell/marks.h"

#define SEQUENCE_MAX 64 /* of {1..9}; a longer sequence is not expanded */

/* Splits a string without braces into fields. */
static void cut(struct judge *j, const char *s, struct fields *to)
{
	while (*s) {
		size_t n = strcspn(s, (const char[]){MARK_SPLIT, 0});
		bool there = false;
		char *field = arena_alloc(j->arena, n + 1);
		size_t len = 0;

		for (size_t i = 0; i < n; i++) {
			there = true;
			if (s[i] != MARK_EMPTY)
				field[len++] = s[i] >= MARK_OPEN && s[i] <= MARK_CLOSE
						       ? mark_byte(s[i])
						       : s[i];
		}
		if (there)
			fields_add(j, to, field);
		s += n;
		s += *s == MARK_SPLIT;
	}
}

static bool has_dots(const char *from, const char *to)
{
	const char *dots = strstr(from, "..");

	return dots && dots < to;
}

/* Finds the end of {a,b} or {1..9} that starts at OPEN; NULL: this is no brace expansion. */
static const char *brace_close(const char *open, bool *list)
{
	int depth = 0;

	*list = false;
	for (const char *p = open; *p; p++) {
		if (*p == MARK_OPEN)
			depth++;
		else if (*p == MARK_CLOSE && --depth == 0)
			return *list || has_dots(open, p) ? p : NULL;
		else if (*p == MARK_COMMA && depth == 1)
			*list = true;
	}
	return NULL;
}

static void expand_braces(struct judge *j, const char *s, struct fields *to);

static bool number(const char *s, size_t n, long *ret)
{
	bool minus = n && *s == '-';
	long v = 0;

	for (size_t i = minus; i < n; i++) {
		if (!isdigit((unsigned char)s[i]) || n > 6)
			return false;
		v = v * 10 + (s[i] - '0');
	}
	*ret = minus ? -v : v;
	return n > (size_t)minus;
}

/* Expands {from..to}; a long sequence becomes unknown. */
static void sequence(struct judge *j, const char *head, size_t head_n, const char *from,
		     const char *close, struct fields *to)
{
	const char *dots = strstr(from, "..");
	size_t n = dots && dots < close ? (size_t)(dots - from) : 0;
	size_t m = n ? (size_t)(close - dots) - 2 : 0;
	bool letters = n == 1 && m == 1 && isalpha((unsigned char)*from) &&
		       isalpha((unsigned char)dots[2]);
	long a = letters ? *from : 0, b = letters ? dots[2] : 0;

	if (n && !letters && (!number(from, n, &a) || !number(dots + 2, m, &b)))
		n = 0;
	if (!n || labs(a - b) > SEQUENCE_MAX) {
		expand_braces(
			j,
			arena_printf(j->arena, "%.*s%c%s", (int)head_n, head, MARK_ANY, close + 1),
			to);
		return;
	}
	for (long i = a;; i += a < b ? 1 : -1) {
		char *item = letters ? arena_printf(j->arena, "%c", (char)i)
				     : arena_printf(j->arena, "%ld", i);

		expand_braces(
			j, arena_printf(j->arena, "%.*s%s%s", (int)head_n, head, item, close + 1),
			to);
		if (i == b)
			break;
	}
}

static void brace_list(struct judge *j, const char *head, size_t head_n, const char *from,
		       const char *close, struct fields *to)
{
	const char *item = from;
	int depth = 0;

	for (const char *p = from; p <= close; p++) {
		if (*p == MARK_OPEN)
			depth++;
		else if (*p == MARK_CLOSE && p < close)
			depth--;
		if ((*p == MARK_COMMA && depth == 0) || p == close) {
			expand_braces(j,
				      arena_printf(j->arena, "%.*s%.*s%s", (int)head_n, head,
						   (int)(p - item), item, close + 1),
				      to);
			item = p + 1;
		}
	}
}

static void expand_braces(struct judge *j, const char *s, struct fields *to)
{
	const char *open = s;

	if (to->n >= FIELDS_MAX)
		arena_give_up(j->arena, "it has too many words");
	for (; (open = strchr(open, MARK_OPEN)); open++) {
		bool list;
		const char *close = brace_close(open, &list);

		if (!close)
			continue;
		if (list)
			brace_list(j, s, (size_t)(open - s), open + 1, close, to);
		else
			sequence(j, s, (size_t)(open - s), open + 1, close, to);
		return;
	}
	cut(j, s, to);
}

void expand_fields(struct judge *j, const char *value, struct fields *to)
{
	expand_braces(j, value, to);
}
