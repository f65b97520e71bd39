#include "edge/parse/server-hello.h"

#include <stdbool.h>
#include <string.h>

enum {
	RECORD_CHANGE_CIPHER = 20,
	RECORD_HANDSHAKE = 22,
	RECORD_MAX = 16 * 1024 + 256,
	MESSAGE_SERVER_HELLO = 2,
	RANDOM_AT = 6,
};

/* SHA-256 of "HelloRetryRequest". */
static const uint8_t retry_random[32] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

/* A whole record header: false for what no TLS server begins with. */
static bool begin_record(struct server_hello *s)
{
	const uint8_t *h = s->header;

	s->n_header = 0;
	s->record_left = (size_t)(h[3] << 8 | h[4]);
	return h[0] >= RECORD_CHANGE_CIPHER && h[0] <= RECORD_HANDSHAKE && h[1] == 3 &&
	       s->record_left <= RECORD_MAX;
}

/* The head of a handshake message has been read. */
static enum server_hello_kind judge(struct server_hello *s)
{
	const uint8_t *m = s->message;
	size_t length = 4 + (size_t)(m[1] << 16 | m[2] << 8 | m[3]);

	s->n_message = 0;
	if (m[0] != MESSAGE_SERVER_HELLO || length < SERVER_HELLO_HEAD)
		return SERVER_HELLO_NOT_TLS;
	s->message_left = length - SERVER_HELLO_HEAD;
	return memcmp(m + RANDOM_AT, retry_random, sizeof(retry_random)) == 0 ? SERVER_HELLO_RETRY
									      : SERVER_HELLO_FINAL;
}

/* Adds to what is collected, as much as is wanted; returns how much that was. */
static size_t collect(uint8_t *to, size_t *have, size_t want, const uint8_t *p, size_t n)
{
	size_t k = n < want - *have ? n : want - *have;

	memcpy(to + *have, p, k);
	*have += k;
	return k;
}

/* A part of a record's payload. */
static enum server_hello_kind take(struct server_hello *s, const uint8_t *p, size_t n,
				   size_t *ret_used)
{
	size_t run = n < s->record_left ? n : s->record_left;

	if (s->header[0] == RECORD_HANDSHAKE && s->message_left) {
		run = run < s->message_left ? run : s->message_left;
		s->message_left -= run;
	} else if (s->header[0] == RECORD_HANDSHAKE) {
		run = collect(s->message, &s->n_message, SERVER_HELLO_HEAD, p, run);
	}
	s->record_left -= run;
	*ret_used = run;
	return s->n_message == SERVER_HELLO_HEAD ? judge(s) : SERVER_HELLO_MORE;
}

enum server_hello_kind server_hello_feed(struct server_hello *s, const void *p, size_t n)
{
	enum server_hello_kind last = SERVER_HELLO_MORE, k = SERVER_HELLO_MORE;
	const uint8_t *b = p;
	size_t used;

	for (size_t at = 0; at < n; at += used) {
		if (s->record_left) {
			k = take(s, b + at, n - at, &used);
		} else {
			used = collect(s->header, &s->n_header, sizeof(s->header), b + at, n - at);
			k = s->n_header == sizeof(s->header) && !begin_record(s)
				    ? SERVER_HELLO_NOT_TLS
				    : SERVER_HELLO_MORE;
		}
		last = k == SERVER_HELLO_MORE ? last : k;
		if (k == SERVER_HELLO_FINAL || k == SERVER_HELLO_NOT_TLS)
			break;
	}
	return last;
}
