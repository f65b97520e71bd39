#pragma once

#include "http/slice.h"

/*
 * Splits absolute http and https URLs and authorities. Nothing is decoded or canonicalised: the
 * host is the peer's spelling, for policy's canonicaliser. Userinfo, fragments, zone ids, empty
 * ports and ports with leading zeros are refused.
 */
enum {
	URL_HOST_MAX = 255,
	URL_MAX = 16 * 1024,
};

enum url_reason {
	URL_OK,
	URL_SCHEME,   /* neither http:// nor https:// */
	URL_USERINFO, /* an '@' in the authority */
	URL_HOST,     /* empty, too long, or a byte no host has */
	URL_PORT,     /* not 1..65535 in plain digits */
	URL_NO_PORT,  /* the port is required */
	URL_BYTES,    /* a byte outside visible ASCII, or a fragment */
	URL_TOO_LONG,
	URL_REASON_N,
};

enum url_scheme { URL_NO_SCHEME, URL_HTTP, URL_HTTPS };

struct url_authority {
	struct slice host; /* without brackets */
	uint16_t port;	   /* 0: none was written */
	bool v6;	   /* the host stood in brackets */
};

struct url {
	enum url_scheme scheme;
	struct url_authority authority;
	struct slice path;  /* "" or starts with '/' */
	struct slice query; /* without '?'; p is NULL when there was no '?' */
};

/* The whole of p must be one authority: host, host:port, [v6], [v6]:port. 0 or -url_reason. */
int url_split_authority(const char *p, size_t n, struct url_authority *ret);
/* The same with a port that must be there: CONNECT's target. */
int url_split_host_port(const char *p, size_t n, struct url_authority *ret);
/* The whole of p must be one absolute URL. 0 or -url_reason. */
int url_parse(const char *p, size_t n, struct url *ret);
/* A path with query, as in origin-form: starts with '/'. 0 or -url_reason. */
int url_split_path(const char *p, size_t n, struct slice *ret_path, struct slice *ret_query);

/* %XX resolved, anything else as it is; at most s.n bytes, into out: how many. */
size_t url_unescape(struct slice s, char *out);

/* The written port, else the scheme's. */
uint16_t url_port(enum url_scheme scheme, uint16_t port);
