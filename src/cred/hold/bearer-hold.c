#include "cred/hold/holders.h"

#include <string.h>

#include "base/text/base64.h"
#include "base/fd.h"
#include "cred/bearer.h"

#define COMMAND_KEEP_MS (300 * 1000)
#define GIT_USER "x-access-token" /* GitHub's name for it; other servers take any */

/* A file or a variable costs nothing to read again, so what was replaced is used at once. */
static int load(struct cred *c, bool again, struct err *err)
{
	cleanup_secret char *token = NULL;
	bool dear = cred_source_is(c->source, "command") || cred_source_is(c->source, "store");
	int r;

	if (dear && c->value && !again && now_ms() - c->loaded_ms < COMMAND_KEEP_MS)
		return 0;
	r = cred_source_read(c, &token, err);
	if (r < 0)
		return err_wrap(err, r, "the credential '%s'", c->name);
	cred_set_value(c, token);
	c->loaded_ms = now_ms();
	return 0;
}

/* Basic is reversible: its form is as secret as the token. */
static void set_basic(struct cred_header *h, const char *token)
{
	cleanup_secret char *plain = xasprintf(GIT_USER ":%s", token);
	cleanup_(cred_wipe) struct buf b;

	buf_init(&b, 4 * strlen(plain) + 16);
	base64_put(&b, plain, strlen(plain));
	cred_header_set(h, "Authorization", "Basic", buf_str(&b));
	strv_push(&h->secrets, token);
}

static int minting(const struct cred *c, struct err *err)
{
	return err_set(err, EPERM,
		       "the credential '%s' is not for requests that make or list credentials",
		       c->name);
}

static int header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		  struct err *err)
{
	if (bearer_is_minting(c->provider, r->target))
		return minting(c, err);
	if (bearer_is_git(r->target))
		set_basic(ret, c->value);
	else
		cred_header_set(ret, "Authorization", "Bearer", c->value);
	/*
	 * The gateway may not keep the header: each request is judged, and the next may differ in
	 * kind.
	 */
	return 0;
}

/* The file has a token for each registry, and only the request says which one is needed. */
static int npm_load(struct cred *c, bool again, struct err *err)
{
	return 0;
}

static int npm_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err)
{
	const char *path = cred_source_is(c->source, "file");
	cleanup_secret char *token = NULL;
	cleanup_(cred_wipe) struct buf b;
	int n;

	buf_init(&b, CRED_FILE_MAX);
	if (bearer_is_minting(c->provider, r->target))
		return minting(c, err);
	n = path ? cred_read_file(c->host, path, &b, NULL, err) : -ENOENT;
	if (n == -ENOENT)
		return err_set(err, ENOENT, "the file of npm's tokens is gone; run: npm login");
	if (n < 0)
		return n;
	token = npmrc_token(c->host, buf_str(&b), r->host, r->port);
	if (!token)
		return err_set(err, ENOENT, "'%s' has no token for %s; run: npm login", path,
			       r->host);
	/* The gateway may not keep the header: each request is judged. */
	cred_header_set(ret, "Authorization", "Bearer", token);
	return 0;
}

const struct cred_holder cred_bearer_holder = {
	.load = load,
	.header = header,
};

const struct cred_holder cred_npm_holder = {
	.load = npm_load,
	.header = npm_header,
};
