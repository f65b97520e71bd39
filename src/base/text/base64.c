#include "base/text/base64.h"

void base64_put(struct buf *b, const void *p, size_t n)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = p;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) |
			     (i + 2 < n ? in[i + 2] : 0);

		(void)buf_putc(b, alphabet[v >> 18]);
		(void)buf_putc(b, alphabet[v >> 12 & 63]);
		(void)buf_putc(b, i + 1 < n ? alphabet[v >> 6 & 63] : '=');
		(void)buf_putc(b, i + 2 < n ? alphabet[v & 63] : '=');
	}
}

static int sextet(char c, const char *last_two)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last_two[0] ? 62 : c == last_two[1] ? 63 : -1;
}

static int get(struct buf *b, const char *text, size_t n, const char *last_two)
{
	uint32_t bits = 0;
	int have = 0;

	while (n && text[n - 1] == '=')
		n--;
	if (n % 4 == 1)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int v = sextet(text[i], last_two);

		if (v < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (buf_putc(b, (char)(bits >> have & 255)) < 0)
			return -ENOBUFS;
	}
	return 0;
}

int base64_get(struct buf *b, const char *text, size_t n)
{
	return get(b, text, n, "+/");
}

int base64url_get(struct buf *b, const char *text, size_t n)
{
	return get(b, text, n, "-_");
}
