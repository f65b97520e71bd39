/*
 * Bedrock: the keys that sign.
 *
 * DOC: Theory of operation
 *
 * The keys come from the aws program and are kept until they expire, until a file changes from
 * which aws reads, or, where they have no end and so may come from anywhere, for KEEP_MS. Looking
 * at the files costs microseconds and is done for every request, so that what the user replaced is
 * what signs the next one. aws itself writes into its caches while it runs: their stamp is taken
 * after a run, that of the user's files before it.
 *
 * A signature is for one request alone: nothing of it may be used again.
 */
#include "cred/hold/holders.h"

#include <string.h>

#include "base/fd.h"
#include "cred/aws.h"
#include "cred/hold/cred-broker.h"
#include "cred/hold/sigv4.h"
#include "cred/run.h"

#define KEEP_MS (300 * 1000)
#define RERUN_MS (20 * 1000) /* aws gives the same keys until shortly before their end */

struct held {
	struct aws_keys keys;
	uint64_t files, caches;
};

static bool is_current(const struct cred *c, uint64_t files)
{
	const struct held *h = c->own;
	uint64_t age = now_ms() - c->loaded_ms;

	if (!h || h->files != files || h->caches != aws_stamp(c->host, true))
		return false;
	if (cred_expires_within(c, CRED_RENEW_AHEAD_MS))
		return age < RERUN_MS && !cred_expires_within(c, 0);
	return c->expires_ms || age < KEEP_MS;
}

static void keep(struct cred *c, struct aws_keys *k, uint64_t files)
{
	struct held *h = c->own;

	if (!h)
		c->own = h = xcalloc(1, sizeof(*h));
	aws_keys_done(&h->keys);
	h->keys = *k;
	h->files = files;
	h->caches = aws_stamp(c->host, true);
	c->expires_ms = k->expires_ms;
	c->loaded_ms = now_ms();
	*k = (struct aws_keys){0};
}

static int load_keys(struct cred *c, bool again, struct err *err)
{
	cleanup_free char *program = NULL;
	uint64_t files = aws_stamp(c->host, false);
	struct aws_keys k = {0};
	const char *known = cred_option(c, "program");
	int r;

	if (!again && is_current(c, files))
		return 0;
	/* While temporary keys last, an attempt that failed is not repeated for every request. Keys
	 * without an end last as long as aws gives them. */
	if (c->own && c->expires_ms && now_ms() < c->retry_ms && !cred_expires_within(c, 0))
		return 0;
	program = known ? xstrdup(known) : NULL;
	r = aws_export(c->host, cred_option(c, "profile"), &program, &k, err);
	if (r == 0) {
		keep(c, &k, files);
		c->retry_ms = 0;
		return 0;
	}
	c->retry_ms = now_ms() + CRED_RETRY_MS;
	return c->own && c->expires_ms && !cred_expires_within(c, 0) ? 0 : r;
}

static bool is_bearer(const struct cred *c)
{
	return cred_source_is(c->source, "env") != NULL;
}

/* An older aws may stand before the one that does it. */
static void needs(const struct cred *c, struct cred_needs *n)
{
	const char *known = cred_option(c, "program"), *profile = cred_option(c, "profile");
	cleanup_strv struct strv programs = {0};

	if (known)
		strv_push(&programs, known);
	else if (!is_bearer(c))
		cred_find_programs(c->host, "aws", &programs);
	for (size_t i = 0; i < programs.n; i++) {
		cleanup_strv struct strv export = {0}, complaint = {0};

		aws_export_argv(programs.v[i], profile, &export);
		aws_complaint_argv(programs.v[i], profile, &complaint);
		cred_needs_program(n, export.v, NULL);
		cred_needs_program(n, complaint.v, NULL);
	}
	aws_caches(c->host, &n->listed);
}

static int load(struct cred *c, bool again, struct err *err)
{
	cleanup_secret char *token = NULL;
	int r;

	if (!is_bearer(c))
		return load_keys(c, again, err);
	r = cred_source_read(c, &token, err);
	if (r == 0)
		cred_set_value(c, token);
	return r;
}

/* Fields of a client that signs or authenticates by itself. */
static void drop_own(struct cred_header *h)
{
	static const char *const fields[] = {
		"authorization",	"x-amz-date",	    "x-amz-content-sha256",
		"x-amz-security-token", "x-amz-user-agent", "amz-sdk-invocation-id",
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		strv_push(&h->drop, fields[i]);
}

static int header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		  struct err *err)
{
	const struct held *h = c->own;
	const char *region = cred_option(c, "region");
	cleanup_free char *host = NULL;
	struct sigv4_keys keys;
	struct sigv4_request req;
	int n;

	if (is_bearer(c)) {
		cred_header_set(ret, "Authorization", "Bearer", c->value);
		return 0;
	}
	if (!*r->body_sha256)
		return -ENODATA;
	host = r->port == 443 ? xstrdup(r->host) : xasprintf("%s:%u", r->host, r->port);
	keys = (struct sigv4_keys){
		.access_key = h->keys.access_key,
		.secret_key = h->keys.secret_key,
		.token = h->keys.token,
		.region = region ? region : "us-east-1",
		.service = "bedrock",
	};
	req = (struct sigv4_request){
		.method = r->method,
		.host = host,
		.target = r->target,
		.content_type = r->content_type,
		.body_sha256 = r->body_sha256,
	};
	n = sigv4_sign(&keys, &req, cred_host_now(c->host), &ret->set, err);
	if (n < 0)
		return n;
	drop_own(ret);
	strv_push(&ret->secrets, h->keys.secret_key);
	if (h->keys.token)
		strv_push(&ret->secrets, h->keys.token);
	return 0;
}

static int variables(struct cred *c, struct strv *ret, struct err *err)
{
	const struct held *h = c->own;
	const char *region = cred_option(c, "region");

	if (is_bearer(c)) {
		strv_pushf(ret, "AWS_BEARER_TOKEN_BEDROCK=%s", c->value);
	} else {
		strv_pushf(ret, "AWS_ACCESS_KEY_ID=%s", h->keys.access_key);
		strv_pushf(ret, "AWS_SECRET_ACCESS_KEY=%s", h->keys.secret_key);
		if (h->keys.token)
			strv_pushf(ret, "AWS_SESSION_TOKEN=%s", h->keys.token);
	}
	strv_pushf(ret, "AWS_DEFAULT_REGION=%s", region ? region : "us-east-1");
	return 0;
}

static void done(struct cred *c)
{
	struct held *h = c->own;

	if (h)
		aws_keys_done(&h->keys);
	free(h);
	c->own = NULL;
}

const struct cred_holder cred_bedrock_holder = {
	.needs = needs,
	.load = load,
	.header = header,
	.variables = variables,
	.done = done,
};
