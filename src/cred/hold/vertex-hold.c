#include "cred/hold/holders.h"

#include <string.h>

#include "base/fd.h"
#include "cred/hold/cred-broker.h"
#include "cred/vertex.h"

/* gcloud does not say how long its token lasts; it gives none that ends within five minutes. */
#define COMMAND_KEEP_MS (240 * 1000)

static void needs(const struct cred *c, struct cred_needs *n)
{
	cred_needs_source(n, c);
	cred_needs_fetch(n, c, GOOGLE_TOKEN_URL);
}

static int load_command(struct cred *c, bool again, struct err *err)
{
	cleanup_secret char *token = NULL;
	int r;

	if (c->value && !again && now_ms() - c->loaded_ms < COMMAND_KEEP_MS)
		return 0;
	r = cred_source_read(c, &token, err);
	if (r < 0)
		return err_hint(err, r, "run: gcloud auth application-default login");
	cred_set_value(c, token);
	c->loaded_ms = now_ms();
	return 0;
}

/* The file has no access token: the first one is fetched as every other. */
static int load(struct cred *c, bool again, struct err *err)
{
	if (cred_source_is(c->source, "command"))
		return load_command(c, again, err);
	c->renewable = true;
	if (!c->value) {
		cred_set_value(c, "");
		c->expires_ms = 1;
	}
	return 0;
}

static int renew(struct cred *c, struct err *err)
{
	cleanup_(oauth_tokens_done) struct oauth_tokens fresh = {0};
	cleanup_(google_user_done) struct google_user u = {0};
	const char *path = cred_source_is(c->source, "file");
	int r = google_adc_read(c->host, path, &u, NULL, err);

	if (r == -ENOENT)
		return err_set(err, EKEYREJECTED, "'%s' holds no login any more", path);
	if (r == 0)
		r = google_renew(c, &u, &fresh, err);
	if (r == -EKEYREJECTED)
		return err_set(err, EKEYREJECTED,
			       "the login of '%s' has ended (invalid_grant); run: gcloud auth "
			       "application-default login",
			       path);
	if (r < 0)
		return err_wrap(err, r, "renewing the login of '%s'", path);
	cred_set_value(c, fresh.access);
	c->expires_ms = fresh.expires_ms;
	return 0;
}

static int header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		  struct err *err)
{
	const char *quota = cred_option(c, "quota_project");

	/* If the renewal failed just now, err says why; an earlier failure is not in it. */
	if (!*c->value)
		return *err->msg ? -EKEYEXPIRED
				 : err_set(err, EKEYEXPIRED, "Google gives no token now");
	cred_header_set(ret, "Authorization", "Bearer", c->value);
	strv_push(&ret->drop, "x-goog-user-project");
	if (quota)
		strv_pushf(&ret->set, "x-goog-user-project: %s", quota);
	ret->keep_ms =
		cred_expires_within(c, CRED_RENEW_AHEAD_MS + CRED_KEEP_MS) ? 0 : CRED_KEEP_MS;
	return 0;
}

const struct cred_holder cred_vertex_holder = {
	.needs = needs,
	.load = load,
	.renew = renew,
	.header = header,
};
