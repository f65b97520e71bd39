#pragma once

#include "base/buf.h"
#include "http/http1.h"

#include <nghttp2/nghttp2.h>

/*
 * Heads of HTTP/2 and of HTTP/1.1, each from the other. A stream of HTTP/2 passes the gateway as the
 * bytes of one HTTP/1.1 message: the strict parser of http/http1.h reads them, and the head for the
 * server is written from what was judged.
 *
 * Fields come one by one. A field that HTTP/1.1 could read differently refuses the whole head: a
 * name that is no lower-case token, a control byte in a value, blanks around it, a pseudo-field that
 * is unknown, repeated or late, a field of the connection, a Host that is not :authority.
 *
 * A stream that asks for a WebSocket becomes an upgrade, with a key of the gateway's: what the stream
 * carries after the head is the new protocol's.
 */
enum h2_reason {
	H2_FINE,
	H2_NAME,
	H2_VALUE,
	H2_PSEUDO, /* unknown, twice, behind other fields, or missing */
	H2_HOP,	   /* a field of the connection, which HTTP/2 does not have */
	H2_HOST,   /* another name than :authority, or none at all */
	H2_TARGET, /* :path, :scheme or :method is malformed */
	H2_LENGTH, /* Content-Length is malformed, repeated, or stands where no body can be */
	H2_STATUS,
	H2_LONG,
	H2_REASON_N,
};

enum h2_kind { H2_REQUEST, H2_RESPONSE, H2_TRAILERS };

struct h2_head {
	enum h2_kind kind;
	bool https;	   /* a request's: the scheme that it must have */
	size_t size;	   /* as RFC 9113 counts; at most H2_HEADERS_MAX */
	bool fields;	   /* one that is no pseudo-field has come */
	bool scheme, grpc; /* :scheme was there; Content-Type is application/grpc */
	bool websocket;	   /* :protocol was there: RFC 8441 */
	char method[HTTP1_METHOD_MAX + 1];
	unsigned int status;
	char *path, *authority, *host; /* NULL: not there */
	bool has_length;
	uint64_t length;
	struct buf text;    /* the other fields, as lines */
	struct buf cookies; /* crumbs, joined again */
};

void h2_head_init(struct h2_head *h, enum h2_kind kind, bool https);
void h2_head_done(struct h2_head *h);
/* 0 or -h2_reason. */
int h2_head_field(struct h2_head *h, struct slice name, struct slice value);

/* The body that follows a head, in HTTP/1.1. */
enum h2_frames {
	H2_RAW, /* Content-Length tells the end, or there is none */
	H2_CHUNKS,
};
/*
 * Appends the head of a request or a response with its empty line. `last`: the stream ends with it.
 * to_head: a response answers HEAD. 0 or -h2_reason.
 */
int h2_head_put(const struct h2_head *h, bool last, bool to_head, struct buf *out,
		enum h2_frames *ret);
const char *h2_reason_str(int reason);

/* The other way: the fields of a head, for nghttp2. They point into the parsed head and into text. */
struct h2_fields {
	nghttp2_nv nv[HTTP1_FIELDS_MAX + 8];
	size_t n;
	char status[4], length[21];
	struct buf text; /* names in lower case */
};
/* https: the scheme. For gRPC "te: trailers" is written, on which its servers insist. */
void h2_fields_request(struct h2_fields *f, const struct http1_head *h, bool https);
void h2_fields_response(struct h2_fields *f, const struct http1_head *h);
/* From lines "name: value\r\n" in lower case, which were checked when they were read. */
void h2_fields_trailers(struct h2_fields *f, const char *p, size_t n);
void h2_fields_init(struct h2_fields *f);
void h2_fields_done(struct h2_fields *f);

/* Is this the type of a gRPC message? */
bool h2_is_grpc(struct slice content_type);
