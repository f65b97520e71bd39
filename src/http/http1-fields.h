#pragma once

#include "http/http1.h"

/* Inside of the head parser: the lines behind the start line. Nobody else includes this. */

/* The fields that decide about framing and connection. */
struct http1_known {
	const struct http1_field *one[HTTP1_F_N];
	size_t n_options; /* of all Connection fields */
	struct slice options[HTTP1_CONNECTION_MAX];
};

/* Returns how many token bytes stand at p. */
size_t http1_token_span(const char *p, const char *end);
/* Reads the lines from p to the empty line at `end`, each known to end with an LF. 0 or -reason. */
int http1_read_fields(const char *p, const char *end, struct http1_head *h, struct http1_known *s);
/* Reads Content-Length and Transfer-Encoding; h->minor must be known. */
int http1_read_framing(const struct http1_known *s, struct http1_head *h);
/* Reads keep-alive, Upgrade, and the fields that Connection names. */
int http1_read_connection(const struct http1_known *s, struct http1_head *h);
