#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * DOC: Theory of operation
 *
 * Reads a server's first TLS messages as they pass, in any pieces, to tell a HelloRetryRequest from
 * a ServerHello: behind the first one a client sends another ClientHello that can be read, behind the
 * second one none. Both are one message type; a retry has a random of its own (RFC 8446 4.1.3).
 * Alerts and ChangeCipherSpec before them are skipped.
 */
enum server_hello_kind {
	SERVER_HELLO_MORE,
	SERVER_HELLO_RETRY, /* more follows, behind the client's second ClientHello */
	SERVER_HELLO_FINAL,
	SERVER_HELLO_NOT_TLS,
};

enum { SERVER_HELLO_HEAD = 38 }; /* type, length, version, random */

struct server_hello { /* {0} is the start of a connection */
	uint8_t header[5], message[SERVER_HELLO_HEAD];
	size_t n_header, n_message;
	size_t record_left;  /* of the record's payload */
	size_t message_left; /* of a retry, behind its head */
};

/* Takes all of p, up to a message that decides. */
enum server_hello_kind server_hello_feed(struct server_hello *s, const void *p, size_t n);
