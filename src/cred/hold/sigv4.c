#include "cred/hold/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"

#define HASH_LEN 32
#define DAY_LEN 8 /* of 20150830T123600Z */

static void to_hex(const unsigned char *p, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[p[i] >> 4];
		ret[2 * i + 1] = digits[p[i] & 15];
	}
	ret[2 * n] = '\0';
}

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-_.~", c));
}

static void put_encoded(struct buf *b, const char *p, size_t n, bool keep_slash)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (is_unreserved(c) || (keep_slash && c == '/'))
			(void)buf_putc(b, (char)c);
		else
			(void)buf_printf(b, "%%%02X", c);
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Writes a parameter's name or value in the one form that is signed, however the client escaped it.
 */
static void put_parameter(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = p[i];

		if (c == '%' && i + 2 < n && hex_value(p[i + 1]) >= 0 && hex_value(p[i + 2]) >= 0) {
			c = (char)(hex_value(p[i + 1]) << 4 | hex_value(p[i + 2]));
			i += 2;
		}
		put_encoded(b, &c, 1, false);
	}
}

/* By name, then by value. '=' would sort between the characters of names, so it is not compared. */
static int by_parameter(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t xn = strcspn(x, "="), yn = strcspn(y, "=");
	int r = memcmp(x, y, xn < yn ? xn : yn);

	if (r == 0 && xn != yn)
		r = xn < yn ? -1 : 1;
	return r ? r : strcmp(x + xn, y + yn);
}

static int put_query(struct buf *b, const char *query, struct err *err)
{
	cleanup_strv struct strv parts, encoded;

	strv_init(&parts);
	strv_init(&encoded);
	strv_split(&parts, query, '&');
	if (parts.n > SIGV4_QUERY_MAX)
		return err_set(err, EINVAL, "a query of more than %d parameters cannot be signed",
			       SIGV4_QUERY_MAX);
	for (size_t i = 0; i < parts.n; i++) {
		const char *p = parts.v[i];
		size_t n = strcspn(p, "=");
		struct buf one;

		buf_init(&one, 4 * SIGV4_TARGET_MAX);
		put_parameter(&one, p, n);
		(void)buf_putc(&one, '=');
		put_parameter(&one, p[n] ? p + n + 1 : "", strlen(p[n] ? p + n + 1 : ""));
		strv_take(&encoded, buf_take(&one));
	}
	if (encoded.n)
		qsort(encoded.v, encoded.n, sizeof(*encoded.v), by_parameter);
	for (size_t i = 0; i < encoded.n; i++) {
		if (i)
			(void)buf_putc(b, '&');
		(void)buf_puts(b, encoded.v[i]);
	}
	return 0;
}

static void put_field_names(struct buf *b, const struct strv *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		if (i)
			(void)buf_putc(b, ';');
		(void)buf_append(b, fields->v[i], strcspn(fields->v[i], ":"));
	}
}

int sigv4_canonical(const char *method, const char *target, const struct strv *fields,
		    const char *body_sha256, char **ret, struct err *err)
{
	size_t path_n = strcspn(target, "?");
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, 8 * SIGV4_TARGET_MAX);
	if (target[0] != '/' || strlen(target) > SIGV4_TARGET_MAX)
		return err_set(err, EINVAL, "this target cannot be signed");
	(void)buf_printf(&b, "%s\n", method);
	put_encoded(&b, target, path_n, true);
	(void)buf_putc(&b, '\n');
	r = target[path_n] ? put_query(&b, target + path_n + 1, err) : 0;
	if (r < 0)
		return r;
	(void)buf_putc(&b, '\n');
	for (size_t i = 0; i < fields->n; i++)
		(void)buf_printf(&b, "%s\n", fields->v[i]);
	(void)buf_putc(&b, '\n');
	put_field_names(&b, fields);
	(void)buf_printf(&b, "\n%s", body_sha256);
	if (b.full)
		return err_set(err, EINVAL, "this request is too long to be signed");
	*ret = buf_take(&b);
	return 0;
}

static bool hmac(const unsigned char *key, size_t key_n, const char *text, unsigned char *ret)
{
	return HMAC(EVP_sha256(), key, (int)key_n, (const unsigned char *)text, strlen(text), ret,
		    NULL) != NULL;
}

/* The key of one day, region and service: each step's result is the key of the next. */
static bool signing_key(const struct sigv4_keys *k, const char *day, unsigned char key[HASH_LEN])
{
	const char *const steps[] = {day, k->region, k->service, "aws4_request"};
	unsigned char next[HASH_LEN];
	char *first = xasprintf("AWS4%s", k->secret_key);
	bool ok = hmac((unsigned char *)first, strlen(first), steps[0], key);

	for (size_t i = 1; ok && i < ARRAY_SIZE(steps); i++) {
		ok = hmac(key, HASH_LEN, steps[i], next);
		memcpy(key, next, HASH_LEN);
	}
	explicit_bzero(next, sizeof(next));
	explicit_bzero(first, strlen(first));
	free(first);
	return ok;
}

int sigv4_signature(const struct sigv4_keys *k, const char *amz_date, const char *canonical,
		    char ret[65], struct err *err)
{
	cleanup_free char *day = xstrndup(amz_date, DAY_LEN), *text = NULL;
	unsigned char hash[HASH_LEN], key[HASH_LEN];
	char hex[2 * HASH_LEN + 1];
	bool ok;

	if (EVP_Digest(canonical, strlen(canonical), hash, NULL, EVP_sha256(), NULL) != 1)
		return err_set(err, EIO, "SHA-256 does not work here");
	to_hex(hash, sizeof(hash), hex);
	text = xasprintf("AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", amz_date, day,
			 k->region, k->service, hex);
	ok = signing_key(k, day, key) && hmac(key, sizeof(key), text, hash);
	explicit_bzero(key, sizeof(key));
	if (!ok)
		return err_set(err, EIO, "HMAC does not work here");
	to_hex(hash, sizeof(hash), ret);
	return 0;
}

/* A field's value as it is signed: blanks at both ends go, a row of them is one. */
static void push_field(struct strv *fields, const char *name, const char *value)
{
	struct buf b;

	buf_init(&b, SIGV4_TARGET_MAX);
	(void)buf_printf(&b, "%s:", name);
	for (bool blank = true; *value; value++) {
		if (*value != ' ')
			(void)buf_putc(&b, *value);
		else if (!blank && value[strspn(value, " ")])
			(void)buf_putc(&b, ' ');
		blank = *value == ' ';
	}
	strv_take(fields, buf_take(&b));
}

/* Wipes the fields before freeing them: those of temporary credentials hold a secret. */
static void forget(struct strv *fields, char **canonical)
{
	for (size_t i = 0; i < fields->n; i++)
		explicit_bzero(fields->v[i], strlen(fields->v[i]));
	strv_done(fields);
	if (*canonical)
		explicit_bzero(*canonical, strlen(*canonical));
	free(*canonical);
}

/* In the order of their names. */
static void signed_fields(const struct sigv4_keys *k, const struct sigv4_request *r,
			  const char *amz_date, struct strv *fields)
{
	if (r->content_type && *r->content_type)
		push_field(fields, "content-type", r->content_type);
	push_field(fields, "host", r->host);
	push_field(fields, "x-amz-content-sha256", r->body_sha256);
	push_field(fields, "x-amz-date", amz_date);
	if (k->token)
		push_field(fields, "x-amz-security-token", k->token);
}

int sigv4_sign(const struct sigv4_keys *k, const struct sigv4_request *r, uint64_t now_ms,
	       struct strv *ret, struct err *err)
{
	char *canonical = NULL;
	struct strv fields;
	cleanup_buf struct buf names;
	time_t now = (time_t)(now_ms / 1000);
	char amz_date[32], signature[2 * HASH_LEN + 1];
	struct tm tm;
	int n;

	buf_init(&names, 256);
	if (strlen(r->body_sha256) != sizeof(signature) - 1)
		return err_set(err, EINVAL, "a request without its body's digest cannot be signed");
	if (!gmtime_r(&now, &tm) || !strftime(amz_date, sizeof(amz_date), "%Y%m%dT%H%M%SZ", &tm))
		return err_set(err, EINVAL, "the clock cannot be read");
	strv_init(&fields);
	signed_fields(k, r, amz_date, &fields);
	n = sigv4_canonical(r->method, r->target, &fields, r->body_sha256, &canonical, err);
	if (n == 0)
		n = sigv4_signature(k, amz_date, canonical, signature, err);
	put_field_names(&names, &fields);
	forget(&fields, &canonical);
	if (n < 0)
		return n;
	strv_pushf(ret, "X-Amz-Date: %s", amz_date);
	strv_pushf(ret, "X-Amz-Content-Sha256: %s", r->body_sha256);
	if (k->token)
		strv_pushf(ret, "X-Amz-Security-Token: %s", k->token);
	strv_pushf(ret,
		   "Authorization: AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/%s/aws4_request, "
		   "SignedHeaders=%s, Signature=%s",
		   k->access_key, DAY_LEN, amz_date, k->region, k->service, buf_str(&names),
		   signature);
	return 0;
}
