#include "base/text/term.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/text/escape.h"

#define TEXT_MAX (1 * MiB)
#define WIDTH_MAX 10000

bool term_use_color(int fd, enum term_color when)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	if (when != TERM_AUTO)
		return when == TERM_ALWAYS;
	if (no_color && *no_color)
		return false;
	return term && *term && !streq(term, "dumb") && isatty(fd);
}

unsigned term_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws = {0};
	uint64_t v = 0;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	if (columns && parse_uint(columns, 1, WIDTH_MAX, &v) == 0)
		return (unsigned)v;
	return 80;
}

char *term_escape(const char *s)
{
	cleanup_buf struct buf b;

	buf_init(&b, TEXT_MAX);
	(void)buf_put_escaped(&b, s);
	return buf_take(&b);
}

void term_puts(FILE *out, const char *s)
{
	char escape[ESCAPE_LONGEST];
	size_t len;

	for (; *s; s += len) {
		len = escape_next(s, escape);
		if (escape[0])
			(void)fputs(escape, out);
		else
			(void)fwrite(s, 1, len, out);
	}
}

void term_line(FILE *out, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	term_puts(out, text);
	(void)fputc('\n', out);
}

/* wcwidth() answers by locale, and ours must not depend on the user's; it is loaded only when a
 * character needs it. */
static size_t wide_columns(uint32_t c)
{
	static locale_t utf8;
	locale_t before;
	int w;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8)
		return 1;
	before = uselocale(utf8);
	w = wcwidth((wchar_t)c);
	(void)uselocale(before);
	return w < 0 ? 1 : (size_t)w;
}

/* Columns of the character at s; *len is its length. */
static size_t columns_one(const char *s, size_t *len)
{
	uint32_t c = 0;

	*len = escape_decode(s, &c);
	if (*len == 0) {
		*len = 1;
		return 1;
	}
	return c < 0x80 ? 1 : wide_columns(c);
}

size_t term_columns(const char *s)
{
	size_t columns = 0;
	size_t len;

	for (; *s; s += len)
		columns += columns_one(s, &len);
	return columns;
}

size_t term_fit(const char *s, size_t columns)
{
	const char *p = s;

	while (*p) {
		size_t len;
		size_t w = columns_one(p, &len);

		if (w > columns)
			break;
		columns -= w;
		p += len;
	}
	return (size_t)(p - s);
}

const char *term_on(bool color, enum term_style style)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "",	   [STYLE_BOLD] = "\x1b[1m",   [STYLE_DIM] = "\x1b[2m",
		[STYLE_RED] = "\x1b[31m",  [STYLE_GREEN] = "\x1b[32m", [STYLE_YELLOW] = "\x1b[33m",
		[STYLE_CYAN] = "\x1b[36m",
	};

	return color ? codes[style] : "";
}

const char *term_off(bool color)
{
	return color ? "\x1b[0m" : "";
}

void term_styled(FILE *out, bool color, enum term_style style, const char *s)
{
	bool styled = color && style != STYLE_NONE;

	(void)fputs(term_on(styled, style), out);
	term_puts(out, s);
	(void)fputs(term_off(styled), out);
}
