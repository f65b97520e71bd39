#pragma once

#include "cred/cred.h"

/*
 * The credential helper's side of a row: from a reference to the header fields of one request.
 * Values live in struct cred (locked memory, wiped) and in struct cred_header, nowhere else.
 */
struct cred_request {
	const char *method, *host, *target; /* target: path and query as they will be sent */
	uint16_t port;
	const char *content_type; /* "" for none */
	const char *body_sha256;  /* hex; "" when the gateway has not computed it yet */
	bool rejected;		  /* the upstream said 401 to the last answer */
};

struct cred_header {
	uint32_t keep_ms;    /* how long the gateway may use it again without asking */
	struct strv set;     /* "Authorization: Bearer …" */
	struct strv drop;    /* names of fields of the client's that must go */
	struct strv secrets; /* what must never come back in a response */
};

struct cred; /* one held credential */

struct cred_holder {
	/* Reads the value from its source; also when the source has changed. */
	int (*load)(struct cred *c, struct err *err);
	/* Renews it; only where load() found it to be renewable. Single flight over all sandboxes.
	 */
	int (*renew)(struct cred *c, struct err *err);
	/* -ENODATA: ask again with the body's digest. */
	int (*header)(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err);
};
