#pragma once

/*
 * ROOM: http
 *
 * The strict HTTP/1 parser and writer, URLs and chunks: bytes in, structs out. No socket, no
 * policy and no credential enters.
 */

#include "base/buf.h"
#include "http/slice.h"
#include "http/url.h"

/*
 * DOC: Theory of operation
 *
 * One strict reader for request and response heads, and one writer that makes the head for the
 * other side from what was read: no byte is passed on that was not parsed.
 *
 * The caller keeps the whole head in one contiguous buffer and calls with all of it from the first
 * byte each time more arrived; slice.h says how it answers. head->scanned remembers how far the
 * search for the end has come: zero the struct (or http1_reset) before a new message, leave it
 * alone between calls. All slices point into the buffer of the call that returned > 0.
 *
 * Fields are looked at once, here. Where peers are known to disagree about a message's framing
 * the message is refused, not repaired: see enum http1_reason.
 */
enum {
	HTTP1_HEAD_MAX = 64 * 1024, /* start line to empty line */
	HTTP1_FIELDS_MAX = 128,
	HTTP1_METHOD_MAX = 32,
	HTTP1_TARGET_MAX = 16 * 1024,
	HTTP1_NAME_MAX = 256,
	HTTP1_CONNECTION_MAX = 32, /* options in all Connection fields */
};

enum http1_reason {
	HTTP1_OK,
	HTTP1_HEAD_LONG,
	HTTP1_FIELDS_MANY,
	HTTP1_METHOD, /* not a token, or too long */
	HTTP1_TARGET, /* no form that this method may have, or a byte no target has */
	HTTP1_TARGET_LONG,
	HTTP1_VERSION, /* not HTTP/1.0 or HTTP/1.1, or none */
	HTTP1_STATUS,  /* a status line that is none */
	HTTP1_BARE_LF,
	HTTP1_BARE_CR,
	HTTP1_FOLD,  /* a line that begins with a blank: obs-fold or leading space */
	HTTP1_NAME,  /* a field name that is no token, a space before the colon, no colon */
	HTTP1_VALUE, /* a control byte in a value */
	HTTP1_HOST_MISSING,
	HTTP1_HOST_TWICE,
	HTTP1_HOST_BAD,
	HTTP1_HOST_DIFFERS, /* absolute-form or CONNECT names another host */
	HTTP1_LENGTH_BAD,   /* Content-Length is not plain digits, or overflows */
	HTTP1_LENGTH_TWICE,
	HTTP1_LENGTH_AND_CODING,
	HTTP1_CODING,	      /* Transfer-Encoding is not exactly "chunked", once */
	HTTP1_CODING_OLD,     /* Transfer-Encoding in HTTP/1.0 */
	HTTP1_CODING_NO_BODY, /* Transfer-Encoding where no body can be: 1xx, 204, CONNECT */
	HTTP1_CONNECTION,     /* a Connection option that is no token, names framing, or too many */
	HTTP1_EXPECT,	      /* anything but 100-continue */
	HTTP1_UPGRADE,	      /* given twice */
	HTTP1_CONNECT_BODY,
	HTTP1_REASON_N,
};

enum http1_form { HTTP1_ORIGIN, HTTP1_ABSOLUTE, HTTP1_AUTHORITY, HTTP1_ASTERISK };

enum http1_body {
	HTTP1_BODY_NONE,
	HTTP1_BODY_LENGTH, /* head->length bytes, which may be 0 */
	HTTP1_BODY_CHUNKED,
	HTTP1_BODY_CLOSE,  /* a response that ends with its connection */
	HTTP1_BODY_TUNNEL, /* no HTTP any more: 101, or 2xx to CONNECT */
};

/* The fields this layer knows; everything else is OTHER and compared by name. */
enum http1_id {
	HTTP1_F_OTHER,
	HTTP1_F_HOST,
	HTTP1_F_CONTENT_LENGTH,
	HTTP1_F_TRANSFER_ENCODING,
	HTTP1_F_CONNECTION,
	HTTP1_F_UPGRADE,
	HTTP1_F_EXPECT,
	HTTP1_F_KEEP_ALIVE,
	HTTP1_F_TE,
	HTTP1_F_ALT_SVC,
	HTTP1_F_TRAILER,
	HTTP1_F_PROXY_CONNECTION,
	HTTP1_F_PROXY_AUTHORIZATION,
	HTTP1_F_PROXY_AUTHENTICATE,
	HTTP1_F_HTTP2_SETTINGS,
	HTTP1_F_AUTHORIZATION,
	HTTP1_F_COOKIE,
	HTTP1_F_SET_COOKIE,
	HTTP1_F_CONTENT_TYPE,
	HTTP1_F_CONTENT_ENCODING,
	HTTP1_F_N,
};

struct http1_field {
	struct slice name, value; /* value without blanks around it */
	enum http1_id id;
	bool hop; /* hop-by-hop by its nature or because Connection names it */
};

struct http1_head {
	size_t scanned;	   /* between calls: the search for the end goes on there */
	size_t line_start; /* the start of the line at `scanned` */
	uint32_t of;	   /* the caller's mark of whose head it is; gone with the next one */

	/* a request */
	struct slice method;
	enum http1_form form;
	struct slice target; /* as sent */
	/* ORIGIN and ABSOLUTE: path, query; ABSOLUTE: scheme, authority; AUTHORITY: authority. */
	struct url url;
	struct url_authority host; /* the Host field; host.n == 0: none (HTTP/1.0) */
	bool expect_continue;

	/* a response */
	unsigned int status;
	struct slice reason;

	/* both */
	unsigned int minor; /* HTTP/1.minor: 0 or 1 */
	enum http1_body body;
	uint64_t length;      /* Content-Length, if has_length */
	bool has_length;      /* also true for a HEAD's answer and a 304, whose body is NONE */
	bool chunked;	      /* Transfer-Encoding: chunked was there; as has_length */
	bool keep_alive;      /* the sender lets the connection live on behind this message */
	struct slice upgrade; /* the Upgrade field, if Connection names it (and HTTP/1.1) */
	bool websocket;	      /* that field is exactly "websocket" */
	size_t n_fields;
	struct http1_field fields[HTTP1_FIELDS_MAX];
};

/* The kind of request that a response answers: it decides whether there is a body. */
enum http1_to {
	HTTP1_TO_OTHER,
	HTTP1_TO_HEAD,
	HTTP1_TO_CONNECT,
};

void http1_reset(struct http1_head *h);
ssize_t http1_parse_request(const char *p, size_t len, struct http1_head *ret);
ssize_t http1_parse_response(const char *p, size_t len, enum http1_to to, struct http1_head *ret);

const char *http1_reason_str(int reason);
/* The status a refused request is answered with: 400, 414, 417, 431 or 505. */
unsigned int http1_reason_status(int reason);

bool http1_method_is(const struct http1_head *h, const char *method); /* with case, as RFC 9110 */
/* Returns the argument of http1_parse_response for the answer to this request. */
enum http1_to http1_to(const struct http1_head *request);
/* Returns the first field of that name, or NULL. */
const struct http1_field *http1_find(const struct http1_head *h, const char *name);
/* Check a name or a value alone; used for trailers and for fields that the caller sets, too. */
bool http1_is_token(const char *p, size_t n);
bool http1_is_value(const char *p, size_t n);
/* p must be a token. */
enum http1_id http1_field_id(const char *p, size_t n);

struct http1_set {
	struct slice name, value;
};

/*
 * The changes to the head that is written for the other side. {0} means: origin-form, Host as
 * received, framing as received, hop-by-hop fields gone, connection kept alive. Always HTTP/1.1.
 */
struct http1_edit {
	struct slice host;	     /* p set: the value of Host (the canonical authority) */
	struct slice target;	     /* p set: path and query instead of the received ones */
	struct slice target_prefix;  /* "http://host:port": absolute-form, for an upstream proxy */
	const struct http1_set *set; /* every received copy of the name goes, this one is written */
	size_t n_set;
	const struct slice *drop; /* names that go */
	size_t n_drop;
	bool no_overrides; /* the fields of override.h go */
	bool close;	   /* write Connection: close */
	bool keep_upgrade; /* write Connection: Upgrade and the Upgrade field, if there was one */
	bool reframe;	   /* use body and length below instead of the received framing */
	enum http1_body body;
	uint64_t length;
};

/*
 * Appends the head with its empty line. 0, -ENOBUFS (out is full; its length is restored), or
 * -EINVAL: the edit holds bytes that no name, value or target may have, names a framing field, or
 * there is no Host to write. A CONNECT is written in authority-form to edit.target.
 */
int http1_write_request(struct buf *out, const struct http1_head *h, const struct http1_edit *e);
int http1_write_response(struct buf *out, const struct http1_head *h, const struct http1_edit *e);
