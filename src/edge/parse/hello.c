#include "edge/parse/hello.h"

enum {
	RECORD_HEADER = 5,
	RECORD_HANDSHAKE = 22,
	HANDSHAKE_HEADER = 4,
	HANDSHAKE_CLIENT_HELLO = 1,
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_EARLY_DATA = 42,
	EXT_SUPPORTED_VERSIONS = 43,
	EXT_ECH = 0xfe0d,
	EXT_ECH_OLD_FIRST = 0xfe08, /* the drafts before the number was fixed */
	EXT_ESNI = 0xffce,
	TLS_1_0 = 0x0301,
};

static const char *const reasons[HELLO_REASON_N] = {
	[HELLO_FINE] = "fine",
	[HELLO_SSLV2] = "the client greets in SSL 2.0",
	[HELLO_NOT_HANDSHAKE] = "the first record is no TLS handshake",
	[HELLO_RECORD] = "a TLS record is malformed",
	[HELLO_EMPTY_RECORD] = "a TLS record is empty",
	[HELLO_TOO_MANY_RECORDS] = "the ClientHello is spread over too many records",
	[HELLO_TOO_LONG] = "the ClientHello is too long",
	[HELLO_NOT_CLIENT_HELLO] = "the first handshake message is no ClientHello",
	[HELLO_TRAILING] = "bytes follow the ClientHello in its record",
	[HELLO_SHAPE] = "the lengths inside the ClientHello do not add up",
	[HELLO_TOO_MANY_EXTENSIONS] = "the ClientHello has too many extensions",
	[HELLO_DUPLICATE_EXTENSION] = "an extension stands twice in the ClientHello",
	[HELLO_SERVER_NAME] = "the server name is not exactly one host name",
	[HELLO_ALPN] = "the list of application protocols is malformed or too long",
	[HELLO_VERSION] = "the ClientHello offers no usable TLS version",
};

const char *hello_reason_str(int reason)
{
	unsigned int i = reason < 0 ? -(unsigned int)reason : (unsigned int)reason;

	return i < HELLO_REASON_N ? reasons[i] : "unknown reason";
}

/* Reads the handshake message through its records; the bytes were counted before. */
struct cursor {
	const uint8_t *p;
	size_t at;     /* next byte in p */
	size_t record; /* payload bytes left in this record */
	size_t left;   /* readable bytes: of the message, or of the vector being read */
};

static void take(struct cursor *c, void *to, size_t n)
{
	uint8_t *out = to;

	c->left -= n;
	while (n) {
		size_t run;

		if (c->record == 0) {
			c->record = (size_t)(c->p[c->at + 3] << 8 | c->p[c->at + 4]);
			c->at += RECORD_HEADER;
		}
		run = n < c->record ? n : c->record;
		if (out) {
			memcpy(out, c->p + c->at, run);
			out += run;
		}
		c->at += run;
		c->record -= run;
		n -= run;
	}
}

static bool skip(struct cursor *c, size_t n)
{
	if (n > c->left)
		return false;
	take(c, NULL, n);
	return true;
}

static bool get(struct cursor *c, size_t bytes, size_t *ret)
{
	uint8_t b[3] = {0};

	if (bytes > c->left)
		return false;
	take(c, b, bytes);
	*ret = 0;
	for (size_t i = 0; i < bytes; i++)
		*ret = *ret << 8 | b[i];
	return true;
}

/* A vector with a length of `bytes` bytes in front: *ret_len is known to be readable. */
static bool get_len(struct cursor *c, size_t bytes, size_t *ret_len)
{
	return get(c, bytes, ret_len) && *ret_len <= c->left;
}

/* Reads one record header; returns the payload length, or -reason. */
static ssize_t record_payload(const uint8_t *r, size_t len, bool first)
{
	size_t n;

	if (r[0] != RECORD_HANDSHAKE) {
		if (first && r[0] & 0x80 && len >= 3 && r[2] == HANDSHAKE_CLIENT_HELLO)
			return -HELLO_SSLV2;
		/* With two bytes both are still possible; both are refused. */
		return first ? -HELLO_NOT_HANDSHAKE : -HELLO_RECORD;
	}
	if (len >= 2 && r[1] != 3)
		return -HELLO_RECORD;
	/* 3.0 to 3.4 have been seen in the record layer; it is frozen at 3.1 and 3.3. */
	if (len >= 3 && r[2] > 4)
		return -HELLO_RECORD;
	if (len < RECORD_HEADER)
		return 0;
	n = (size_t)(r[3] << 8 | r[4]);
	if (n == 0)
		return -HELLO_EMPTY_RECORD;
	return n > HELLO_RECORD_MAX ? -HELLO_RECORD : (ssize_t)n;
}

/* The four bytes before the message may stand in up to four records. */
static int peek_header(const uint8_t *p, size_t len, uint8_t out[HANDSHAKE_HEADER], size_t *ret_n)
{
	size_t at = 0, got = 0;

	for (size_t records = 0; got < HANDSHAKE_HEADER && at < len; records++) {
		ssize_t n = record_payload(p + at, len - at, records == 0);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		at += RECORD_HEADER;
		for (ssize_t i = 0; i < n && got < HANDSHAKE_HEADER && at + (size_t)i < len; i++)
			out[got++] = p[at + (size_t)i];
		at += (size_t)n;
	}
	*ret_n = got;
	return 0;
}

/* Finds the end of the last record of a message of `want` bytes; 0: not yet here. */
static ssize_t find_end(const uint8_t *p, size_t len, size_t want)
{
	size_t at = 0, got = 0;

	for (size_t records = 0; got < want; records++) {
		ssize_t n;

		if (records == HELLO_RECORDS_MAX)
			return -HELLO_TOO_MANY_RECORDS;
		if (at >= len)
			return 0;
		n = record_payload(p + at, len - at, records == 0);
		if (n <= 0)
			return n;
		at += RECORD_HEADER + (size_t)n;
		got += (size_t)n;
		if (at > HELLO_MAX)
			return -HELLO_TOO_LONG;
		if (got > want)
			return -HELLO_TRAILING;
	}
	return at <= len ? (ssize_t)at : 0;
}

static int read_server_name(struct cursor *c, struct hello *h)
{
	size_t list, type, n;

	if (!get_len(c, 2, &list) || list != c->left || !get(c, 1, &type) || !get_len(c, 2, &n))
		return -HELLO_SERVER_NAME;
	if (type != 0 || n != c->left || n < 1 || n > HELLO_NAME_MAX)
		return -HELLO_SERVER_NAME;
	take(c, h->name, n);
	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)h->name[i];

		/* RFC 6066: ASCII, without a trailing dot; the dot is the canonicaliser's. */
		if (b <= ' ' || b >= 0x7f)
			return -HELLO_SERVER_NAME;
	}
	h->name[n] = '\0';
	h->name_len = n;
	return 0;
}

static int read_alpn(struct cursor *c, struct hello *h)
{
	size_t list, used = 0;

	if (!get_len(c, 2, &list) || list != c->left || list == 0)
		return -HELLO_ALPN;
	while (c->left) {
		size_t n;

		if (!get_len(c, 1, &n) || n == 0)
			return -HELLO_ALPN;
		if (h->n_alpn == HELLO_ALPN_MAX || n > HELLO_ALPN_BYTES_MAX - used)
			return -HELLO_ALPN;
		take(c, h->alpn_bytes + used, n);
		h->alpn[h->n_alpn++] = (struct slice){h->alpn_bytes + used, n};
		used += n;
	}
	return 0;
}

static int read_versions(struct cursor *c, struct hello *h)
{
	size_t list;

	if (!get_len(c, 1, &list) || list != c->left || list < 2 || list % 2)
		return -HELLO_VERSION;
	h->n_versions = 0;
	while (c->left) {
		size_t v;

		if (h->n_versions == HELLO_VERSIONS_MAX || !get(c, 2, &v))
			return -HELLO_VERSION;
		h->versions[h->n_versions++] = (uint16_t)v;
	}
	return 0;
}

/* Reads one extension's body; the cursor covers exactly that. */
static int read_extension(struct cursor *c, size_t type, struct hello *h)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return read_server_name(c, h);
	case EXT_ALPN:
		return read_alpn(c, h);
	case EXT_SUPPORTED_VERSIONS:
		return read_versions(c, h);
	case EXT_EARLY_DATA:
		h->early_data = true;
		break;
	default:
		if ((type >= EXT_ECH_OLD_FIRST && type <= EXT_ECH) || type == EXT_ESNI)
			h->ech = true;
		break;
	}
	(void)skip(c, c->left);
	return 0;
}

static int read_extensions(struct cursor *c, struct hello *h)
{
	uint16_t seen[HELLO_EXTENSIONS_MAX];
	size_t n_seen = 0;

	while (c->left) {
		size_t type, n, behind;
		int r;

		if (!get(c, 2, &type) || !get_len(c, 2, &n))
			return -HELLO_SHAPE;
		for (size_t i = 0; i < n_seen; i++) {
			if (seen[i] == type)
				return -HELLO_DUPLICATE_EXTENSION;
		}
		if (n_seen == HELLO_EXTENSIONS_MAX)
			return -HELLO_TOO_MANY_EXTENSIONS;
		seen[n_seen++] = (uint16_t)type;
		behind = c->left - n;
		c->left = n;
		r = read_extension(c, type, h);
		if (r < 0)
			return r;
		c->left = behind;
	}
	return 0;
}

static int read_message(struct cursor *c, struct hello *h)
{
	size_t version, n;

	if (!get(c, 2, &version) || !skip(c, 32))
		return -HELLO_SHAPE;
	if (version < TLS_1_0)
		return -HELLO_VERSION;
	h->versions[h->n_versions++] = (uint16_t)version;
	if (!get_len(c, 1, &n) || n > 32 || !skip(c, n)) /* session id */
		return -HELLO_SHAPE;
	if (!get_len(c, 2, &n) || n < 2 || n % 2 || !skip(c, n)) /* cipher suites */
		return -HELLO_SHAPE;
	if (!get_len(c, 1, &n) || n < 1 || !skip(c, n)) /* compression methods */
		return -HELLO_SHAPE;
	if (c->left == 0) /* TLS 1.2 and before may do without extensions */
		return 0;
	if (!get_len(c, 2, &n) || n != c->left)
		return -HELLO_SHAPE;
	return read_extensions(c, h);
}

ssize_t hello_parse(const void *p, size_t len, struct hello *ret)
{
	struct cursor c = {.p = p};
	uint8_t header[HANDSHAKE_HEADER];
	size_t got, want;
	ssize_t end;
	int r = peek_header(p, len, header, &got);

	if (r < 0)
		return r;
	if (got >= 1 && header[0] != HANDSHAKE_CLIENT_HELLO)
		return -HELLO_NOT_CLIENT_HELLO;
	if (got < HANDSHAKE_HEADER)
		return 0;
	want = HANDSHAKE_HEADER + (size_t)(header[1] << 16 | header[2] << 8 | header[3]);
	if (want > HELLO_MAX)
		return -HELLO_TOO_LONG;
	end = find_end(p, len, want);
	if (end <= 0)
		return end;
	*ret = (struct hello){0};
	c.left = want;
	(void)skip(&c, HANDSHAKE_HEADER);
	r = read_message(&c, ret);
	return r < 0 ? r : end;
}

bool hello_offers_alpn(const struct hello *h, const char *proto)
{
	for (size_t i = 0; i < h->n_alpn; i++) {
		if (slice_eq(h->alpn[i], slice_of(proto)))
			return true;
	}
	return false;
}

bool hello_offers_version(const struct hello *h, uint16_t version)
{
	for (size_t i = 0; i < h->n_versions; i++) {
		if (h->versions[i] == version)
			return true;
	}
	return false;
}
