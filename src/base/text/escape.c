#include "base/text/escape.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

size_t escape_decode(const char *s, uint32_t *ret)
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

bool escape_is_active(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	    /* C0 controls, ESC among them */
		{0x7f, 0x9f},	    /* DEL, and C1 controls, CSI among them */
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

size_t escape_next(const char *s, char out[ESCAPE_LONGEST])
{
	unsigned char byte = (unsigned char)*s;
	uint32_t c = 0;
	size_t len = escape_decode(s, &c);

	out[0] = '\0';
	if (len && !escape_is_active(c))
		return len;
	if (byte == '\n' || byte == '\t')
		(void)snprintf(out, ESCAPE_LONGEST, "\\%c", byte == '\n' ? 'n' : 't');
	else if (len > 1)
		(void)snprintf(out, ESCAPE_LONGEST, "\\u{%X}", (unsigned)c);
	else
		(void)snprintf(out, ESCAPE_LONGEST, "\\x%02x", byte);
	return len ? len : 1;
}

void escape_text(const char *s, char *to, size_t size)
{
	char escape[ESCAPE_LONGEST];
	size_t at = 0;

	while (*s) {
		size_t len = escape_next(s, escape), n = escape[0] ? strlen(escape) : len;

		if (at + n >= size)
			break;
		memcpy(to + at, escape[0] ? escape : s, n);
		at += n;
		s += len;
	}
	to[at] = '\0';
}
