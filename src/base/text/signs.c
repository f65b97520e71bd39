#include "base/text/signs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SHOWN_MAX (1 * MiB)

static const struct {
	char utf8[SIGNS_LONGEST + 1];
	const char *ascii;
} signs[] = {{"…", "..."}, {"─", "-"}, {"—", "-"}, {"→", "->"},
	     {"←", "<-"},  {"·", "|"}, {"×", "x"}};

bool signs_are_ascii(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return !strcasestr(v, "utf-8") && !strcasestr(v, "utf8");
	}
	return true;
}

const char *signs_cut(void)
{
	return signs_are_ascii() ? "~" : "…";
}

/* Returns the sign at the start of the text, or the number of signs. */
static size_t sign_at(const char *text, size_t n)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(signs)) {
		size_t len = strlen(signs[i].utf8);

		if (n >= len && memcmp(text, signs[i].utf8, len) == 0)
			break;
		i++;
	}
	return i;
}

void signs_put(struct buf *b, const char *text, size_t n)
{
	while (n) {
		size_t i = (unsigned char)*text < 0x80 ? ARRAY_SIZE(signs) : sign_at(text, n);
		bool found = i < ARRAY_SIZE(signs);
		size_t len = found ? strlen(signs[i].utf8) : 1;

		if (found)
			(void)buf_puts(b, signs[i].ascii);
		else
			(void)buf_putc(b, *text);
		text += len;
		n -= len;
	}
}

void signs_show(FILE *out, const char *text, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, SHOWN_MAX);
	if (signs_are_ascii())
		signs_put(&b, text, n);
	else
		(void)buf_append(&b, text, n);
	(void)fwrite(buf_str(&b), 1, b.len, out);
}

size_t signs_unfinished(const char *text, size_t n)
{
	for (size_t k = n < SIGNS_LONGEST - 1 ? n : SIGNS_LONGEST - 1; k; k--)
		for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
			if (k < strlen(signs[i].utf8) &&
			    memcmp(text + n - k, signs[i].utf8, k) == 0)
				return k;
	return 0;
}
