#pragma once

#include "http/slice.h"

/*
 * DOC: Theory of operation
 *
 * Reads a TLS ClientHello that may be spread over several records and arrive in any pieces.
 * Called with all bytes so far from the first one; http/slice.h says how it answers. Until the
 * message is whole only record headers and the handshake header are looked at, so that a client
 * which trickles bytes costs little; the message itself is read once. Names are copied out, since
 * a record border may stand in the middle of them. Nothing is decrypted and nothing is terminated.
 */
enum {
	HELLO_MAX = 64 * 1024,	      /* all records with their headers */
	HELLO_RECORD_MAX = 16 * 1024, /* payload of one plaintext record */
	HELLO_RECORDS_MAX = 64,	      /* 4 KiB in records of 64 bytes, the least RFC 8449 allows */
	HELLO_EXTENSIONS_MAX = 96,
	HELLO_NAME_MAX = 255,
	HELLO_ALPN_MAX = 16,	    /* protocols that are kept */
	HELLO_ALPN_BYTES_MAX = 256, /* their names in all */
	HELLO_VERSIONS_MAX = 16,
};

enum hello_reason {
	HELLO_FINE,
	HELLO_SSLV2,
	HELLO_NOT_HANDSHAKE, /* the first record is of another type */
	HELLO_RECORD,	     /* version, length or type of a record */
	HELLO_EMPTY_RECORD,
	HELLO_TOO_MANY_RECORDS,
	HELLO_TOO_LONG,
	HELLO_NOT_CLIENT_HELLO,
	HELLO_TRAILING, /* bytes behind the message in its last record */
	HELLO_SHAPE,	/* lengths inside do not add up */
	HELLO_TOO_MANY_EXTENSIONS,
	HELLO_DUPLICATE_EXTENSION,
	HELLO_SERVER_NAME, /* not exactly one host_name, or bytes no name has */
	HELLO_ALPN,	   /* an empty or over-long protocol list */
	HELLO_VERSION,	   /* below TLS 1.0, or too many offered */
	HELLO_REASON_N,
};

struct hello {
	char name[HELLO_NAME_MAX + 1];	   /* SNI host_name as sent, NUL-terminated */
	size_t name_len;		   /* 0: no server_name extension */
	struct slice alpn[HELLO_ALPN_MAX]; /* into alpn_bytes: do not copy the struct */
	size_t n_alpn;
	uint16_t versions[HELLO_VERSIONS_MAX]; /* supported_versions, else legacy_version alone */
	size_t n_versions;
	bool ech;	 /* encrypted_client_hello (or its drafts) is there, GREASE or not */
	bool early_data; /* 0-RTT bytes follow */
	char alpn_bytes[HELLO_ALPN_BYTES_MAX];
};

/* The consumed bytes end with the last record of the message. */
ssize_t hello_parse(const void *p, size_t len, struct hello *ret);
bool hello_offers_alpn(const struct hello *h, const char *proto);
bool hello_offers_version(const struct hello *h, uint16_t version);
const char *hello_reason_str(int reason);
