#include "gateway/parse/server-hello.h"

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
static int begin_record(struct server_hello *s)
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

/* One byte of a record's payload. */
static enum server_hello_kind take(struct server_hello *s, uint8_t byte)
{
	s->record_left--;
	if (s->header[0] != RECORD_HANDSHAKE)
		return SERVER_HELLO_MORE;
	if (s->message_left) {
		s->message_left--;
		return SERVER_HELLO_MORE;
	}
	s->message[s->n_message++] = byte;
	return s->n_message == SERVER_HELLO_HEAD ? judge(s) : SERVER_HELLO_MORE;
}

enum server_hello_kind server_hello_feed(struct server_hello *s, const void *p, size_t n)
{
	enum server_hello_kind last = SERVER_HELLO_MORE;
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++) {
		enum server_hello_kind k = SERVER_HELLO_MORE;

		if (s->record_left) {
			k = take(s, b[i]);
		} else {
			s->header[s->n_header++] = b[i];
			if (s->n_header == sizeof(s->header) && !begin_record(s))
				k = SERVER_HELLO_NOT_TLS;
		}
		if (k != SERVER_HELLO_MORE)
			last = k;
		if (k == SERVER_HELLO_FINAL || k == SERVER_HELLO_NOT_TLS)
			break;
	}
	return last;
}
