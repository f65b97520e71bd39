#include "spell.h"

#include "base/text/base64.h"

static void each(struct buf *out, const char *p, size_t n, const char *fmt)
{
	for (size_t i = 0; i < n; i++)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)buf_printf(out, fmt, (unsigned char)p[i]);
#pragma GCC diagnostic pop
}

static void put_plain(struct buf *out, const char *p, size_t n)
{
	(void)buf_append(out, p, n);
}

static void put_hex(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "%02x");
}

static void put_hex_upper(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "%02X");
}

static void put_url(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "%%%02X");
}

static void put_url_some(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		each(out, p + i, 1, i % 3 ? "%c" : "%%%02x");
}

static void put_json(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "\\u%04x");
}

static void put_c(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "\\x%02X");
}

static void put_html(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "&#%d;");
}

static void put_html_hex(struct buf *out, const char *p, size_t n)
{
	each(out, p, n, "&#x%X;");
}

static void put_utf16le(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)buf_append(out, (char[]){p[i], '\0'}, 2);
}

static void put_utf16be(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)buf_append(out, (char[]){'\0', p[i]}, 2);
}

static void put_base64(struct buf *out, const char *p, size_t n)
{
	base64_put(out, p, n);
}

/* Behind one byte and behind two. */
static void put_base64_1(struct buf *out, const char *p, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	(void)buf_putc(&b, ':');
	(void)buf_append(&b, p, n);
	base64_put(out, b.data, b.len);
}

static void put_base64_2(struct buf *out, const char *p, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	(void)buf_puts(&b, "x:");
	(void)buf_append(&b, p, n);
	base64_put(out, b.data, b.len);
}

static void put_base64url(struct buf *out, const char *p, size_t n)
{
	size_t from = out->len;

	base64_put(out, p, n);
	for (size_t i = from; i < out->len; i++)
		out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

/* Lines as in mail, of 76, and as in keys, of 64. */
static void put_lines(struct buf *out, const char *p, size_t n, size_t width, const char *end)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	base64_put(&b, p, n);
	for (size_t i = 0; i < b.len; i += width) {
		(void)buf_append(out, b.data + i, b.len - i < width ? b.len - i : width);
		(void)buf_puts(out, i + width < b.len ? end : "");
	}
}

static void put_base64_mail(struct buf *out, const char *p, size_t n)
{
	put_lines(out, p, n, 76, "\r\n");
}

static void put_base64_pem(struct buf *out, const char *p, size_t n)
{
	put_lines(out, p, n, 64, "\n");
}

const struct spelling spellings[] = {
	{"plain", put_plain},
	{"hex", put_hex},
	{"HEX", put_hex_upper},
	{"%XX", put_url},
	{"some %xx", put_url_some},
	{"\\uXXXX", put_json},
	{"\\xXX", put_c},
	{"&#N;", put_html},
	{"&#xN;", put_html_hex},
	{"UTF-16LE", put_utf16le},
	{"UTF-16BE", put_utf16be},
	{"base64", put_base64},
	{"base64 behind 1", put_base64_1},
	{"base64 behind 2", put_base64_2},
	{"base64url", put_base64url},
	{"base64 of mail", put_base64_mail},
	{"base64 of PEM", put_base64_pem},
};
const size_t n_spellings = ARRAY_SIZE(spellings);

struct buf spell_twice(const struct spelling *outer, const struct spelling *inner, const char *p,
		       size_t n)
{
	cleanup_buf struct buf once;
	struct buf b;

	buf_init(&once, MiB);
	buf_init(&b, MiB);
	inner->put(&once, p, n);
	if (once.len)
		outer->put(&b, once.data, once.len);
	return b;
}
