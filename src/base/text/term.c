#include "base/text/term.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/parse.h"

#define ESCAPE_LONGEST 16 /* "\u{10FFFF}" and a NUL, and what the compiler thinks of %X */
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

/* Strict UTF-8: the length of the sequence at s, or 0 for what is none (overlong, surrogate, cut).
 */
static size_t decode(const char *s, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c = p[0];
	size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (n == 1) {
		*ret = c;
		return 1;
	}
	if (c < 0xc2 || c > 0xf4)
		return 0;
	c &= 0xffU >> (n + 1);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/* Characters that reorder or hide what stands around them, or that a terminal acts on. */
static bool is_hostile(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x80, 0x9f},	    /* C1 controls, CSI among them */
		{0xad, 0xad},	    /* soft hyphen */
		{0x61c, 0x61c},	    /* Arabic letter mark */
		{0x180e, 0x180e},   /* Mongolian vowel separator */
		{0x200b, 0x200f},   /* zero width, direction marks */
		{0x2028, 0x202e},   /* line and paragraph separators, embeddings, overrides */
		{0x2060, 0x206f},   /* invisible operators, isolates, deprecated controls */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* annotations */
		{0xe0000, 0xe007f}, /* tags */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* The escape for what is at s, or "" when it can be shown; *len is how much it covers. */
static void escape_one(const char *s, char out[ESCAPE_LONGEST], size_t *len)
{
	unsigned char byte = (unsigned char)*s;
	uint32_t c = 0;

	out[0] = '\0';
	*len = decode(s, &c);
	if (*len == 0) {
		*len = 1;
		(void)snprintf(out, ESCAPE_LONGEST, "\\x%02x", byte);
	} else if (byte == '\n') {
		(void)snprintf(out, ESCAPE_LONGEST, "\\n");
	} else if (byte == '\t') {
		(void)snprintf(out, ESCAPE_LONGEST, "\\t");
	} else if (c < 0x20 || c == 0x7f) {
		(void)snprintf(out, ESCAPE_LONGEST, "\\x%02x", byte);
	} else if (c >= 0x80 && is_hostile(c)) {
		(void)snprintf(out, ESCAPE_LONGEST, "\\u{%X}", (unsigned)c);
	}
}

char *term_escape(const char *s)
{
	cleanup_buf struct buf b;
	char escape[ESCAPE_LONGEST];
	size_t len;

	buf_init(&b, TEXT_MAX);
	/* Once full it stays cut at that place. */
	for (; *s && !b.full; s += len) {
		escape_one(s, escape, &len);
		if (escape[0])
			(void)buf_puts(&b, escape);
		else
			(void)buf_append(&b, s, len);
	}
	return buf_take(&b);
}

void term_puts(FILE *out, const char *s)
{
	char escape[ESCAPE_LONGEST];
	size_t len;

	for (; *s; s += len) {
		escape_one(s, escape, &len);
		if (escape[0])
			(void)fputs(escape, out);
		else
			(void)fwrite(s, 1, len, out);
	}
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

	*len = decode(s, &c);
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
