#pragma once

#include "cred/cred.h"

/* The keys that `aws configure export-credentials` prints, for both halves of the Bedrock row. */
struct aws_keys {
	char *access_key, *secret_key, *token; /* wiped; token is NULL for lasting keys */
	uint64_t expires_ms;		       /* 0: never, or not said */
};

void aws_keys_done(struct aws_keys *k);

/* The JSON that a credential_process prints, and export-credentials with --format process. err
 * never has a part of the text. */
int aws_keys_parse(const char *text, size_t len, struct aws_keys *ret, struct err *err);

/*
 * Runs it for a profile (NULL: the default one). About half a second; a login of SSO may be renewed
 * over the network by aws itself. *program is the aws that can do it: an older one may stand before
 * it on the PATH. NULL: search, and set it on success.
 */
int aws_export(const struct cred_host *h, const char *profile, char **program, struct aws_keys *ret,
	       struct err *err);

/* Makes the error for the user when aws gave nothing, from its exit code and what it wrote. */
int aws_explain(int code, const char *said, const char *profile, struct err *err);

/* Tells whether a region ("us-east-1") can be part of a host name. */
bool aws_region_is_sane(const char *region);
/* Returns the end of a region's host names, with the region: "us-east-1.amazonaws.com". */
char *aws_domain(const char *region);

/* How aws is asked for the keys, and once more for its stderr alone. */
void aws_export_argv(const char *program, const char *profile, struct strv *ret);
void aws_complaint_argv(const char *program, const char *profile, struct strv *ret);
/* The directories of cached logins and tokens. */
void aws_caches(const struct cred_host *h, struct strv *ret);
/*
 * Returns a number that changes with the files that aws reads: config and credentials, or with
 * `caches` its directories of cached logins and tokens.
 */
uint64_t aws_stamp(const struct cred_host *h, bool caches);
