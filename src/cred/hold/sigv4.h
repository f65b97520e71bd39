#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdint.h>

/*
 * AWS Signature Version 4 for requests whose whole body is known: the recipe of every service but
 * S3. The path is encoded once more than it is on the wire (%3A is signed as %253A), the query is
 * put into order, and the fields that are signed are Host, Content-Type where there is one, and
 * the x-amz ones that signing adds. Pure: the time is given.
 */
struct sigv4_keys {
	const char *access_key, *secret_key;
	const char *token; /* of temporary credentials; NULL: none */
	const char *region, *service;
};

struct sigv4_request {
	const char *method;
	const char *host;	  /* the value of the Host field as it will be sent */
	const char *target;	  /* path and query as they will be sent */
	const char *content_type; /* "" or NULL: none */
	const char *body_sha256;  /* hex */
};

#define SIGV4_TARGET_MAX (16 * KiB)
#define SIGV4_QUERY_MAX 256 /* parameters */

/* Appends the fields to set: X-Amz-Date, X-Amz-Content-Sha256, X-Amz-Security-Token with temporary
 * credentials, Authorization. -EINVAL: not a request that can be signed. */
int sigv4_sign(const struct sigv4_keys *k, const struct sigv4_request *r, uint64_t now_ms,
	       struct strv *ret, struct err *err);

/*
 * The parts, for the tests that are published for them. Fields are "name:value" in lower case, in
 * order, as they are signed.
 */
int sigv4_canonical(const char *method, const char *target, const struct strv *fields,
		    const char *body_sha256, char **ret, struct err *err);
/* amz_date: 20150830T123600Z; the signature in hex, 65 bytes with the end. */
int sigv4_signature(const struct sigv4_keys *k, const char *amz_date, const char *canonical,
		    char ret[65], struct err *err);
