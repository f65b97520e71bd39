#include "ca/keystore.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "base/text/base64.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define DER_MAX (64 * KiB) /* of one certificate */

#define MAGIC 0xfeedfeedu
#define VERSION 2
#define TRUSTED 2
#define PASSWORD "changeit"	  /* of every cacerts */
#define PHRASE "Mighty Aphrodite" /* of every JKS */

static void put_number(struct buf *b, uint64_t v, int bytes)
{
	while (bytes--)
		(void)buf_putc(b, (char)(v >> (8 * bytes)));
}

/* ASCII only: Java has another spelling of what is beyond. */
static void put_text(struct buf *b, const char *s)
{
	put_number(b, strlen(s), 2);
	(void)buf_puts(b, s);
}

/* The next certificate of *pem, which moves behind it; false: there is none that can be read. */
static bool next_der(const char **pem, struct buf *der)
{
	const char *at = strstr(*pem, BEGIN), *end = at ? strstr(at, END) : NULL;
	cleanup_buf struct buf text;

	buf_init(&text, 2 * DER_MAX);
	if (!end)
		return false;
	*pem = end + strlen(END);
	for (at += strlen(BEGIN); at < end; at++)
		if (*at != '\n' && *at != '\r')
			(void)buf_putc(&text, *at);
	buf_clear(der);
	return !text.full && base64_get(der, buf_str(&text), text.len) == 0;
}

static void put_entry(struct buf *b, unsigned n, const struct buf *der)
{
	char alias[16];

	(void)snprintf(alias, sizeof(alias), "ralph-%u", n);
	put_number(b, TRUSTED, 4);
	put_text(b, alias);
	put_number(b, 0, 8); /* the time, in ms: there is no need to tell */
	put_text(b, "X.509");
	put_number(b, der->len, 4);
	(void)buf_append(b, der->data, der->len);
}

/* Over the password in UTF-16, the phrase and all before. */
static void put_digest(struct buf *b)
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	cleanup_buf struct buf all;

	buf_init(&all, b->len + 64);
	for (const char *p = PASSWORD; *p; p++)
		put_number(&all, (unsigned char)*p, 2);
	(void)buf_puts(&all, PHRASE);
	(void)buf_append(&all, b->data, b->len);
	(void)SHA1((const unsigned char *)all.data, all.len, digest);
	(void)buf_append(b, digest, sizeof(digest));
}

int keystore_of(const char *pem, struct buf *ret)
{
	cleanup_buf struct buf entries, der;
	unsigned n = 0;

	buf_init(&entries, ret->max);
	buf_init(&der, DER_MAX);
	while (strstr(pem, BEGIN) && strstr(strstr(pem, BEGIN), END))
		if (next_der(&pem, &der))
			put_entry(&entries, n++, &der);
	put_number(ret, MAGIC, 4);
	put_number(ret, VERSION, 4);
	put_number(ret, n, 4);
	(void)buf_append(ret, entries.data, entries.len);
	put_digest(ret);
	return entries.full || ret->full ? -ENOBUFS : 0;
}
