#include "cred/hold/holders.h"

#include <string.h>

#include "cred/gemini.h"
#include "cred/hold/cred-broker.h"

static int post(struct cred *c, const struct file_login *old, struct oauth_tokens *ret,
		struct err *err)
{
	cleanup_(google_user_done) struct google_user u = {0};
	int r = gemini_client(c->host, &u, err);

	if (r < 0)
		return r;
	u.refresh = xstrdup(old->refresh);
	return google_renew(c, &u, ret, err);
}

static const struct file_login_kind kind = {
	.login = "gemini, and choose to log in with Google",
	.parse = gemini_login_parse,
	.update = gemini_login_update,
	.post = post,
};

static void oauth_needs(const struct cred *c, struct cred_needs *n)
{
	struct err ignored;

	file_login_needs(c, GOOGLE_TOKEN_URL, n);
	(void)gemini_places(c->host, &n->read, &ignored);
}

static int oauth_load(struct cred *c, bool again, struct err *err)
{
	return file_login_load(c, &kind, NULL, err);
}

static int oauth_renew(struct cred *c, struct err *err)
{
	return file_login_renew(c, &kind, err);
}

static int oauth_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
			struct err *err)
{
	/* If the renewal failed just now, err says why; an earlier failure is not in it. */
	if (!*c->value)
		return *err->msg ? -EKEYEXPIRED
				 : err_set(err, EKEYEXPIRED, "the login cannot be renewed now");
	cred_header_set(ret, "Authorization", "Bearer", c->value);
	ret->keep_ms =
		cred_expires_within(c, CRED_RENEW_AHEAD_MS + CRED_KEEP_MS) ? 0 : CRED_KEEP_MS;
	return 0;
}

static int key_load(struct cred *c, bool again, struct err *err)
{
	cleanup_secret char *key = NULL;
	int r = cred_source_read(c, &key, err);

	if (r == 0)
		cred_set_value(c, key);
	return r;
}

static int key_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err)
{
	cred_header_set(ret, "x-goog-api-key", NULL, c->value);
	ret->keep_ms = CRED_KEEP_MS;
	return 0;
}

const struct cred_holder cred_gemini_oauth_holder = {
	.needs = oauth_needs,
	.load = oauth_load,
	.renew = oauth_renew,
	.header = oauth_header,
};

const struct cred_holder cred_gemini_key_holder = {
	.load = key_load,
	.header = key_header,
};
