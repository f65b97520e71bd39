#include "cred/hold/holders.h"

#include <string.h>

#include "base/json/json.h"
#include "cred/hold/cred-broker.h"
#include "cred/openai.h"

#define TOKEN_URL "https://auth.openai.com/oauth/token"
#define CLIENT_ID "app_EMoamEEZ73f0CkXaXp7hrann"

/* "codex:PATH" is Codex's file, "file:PATH" one of the user's with nothing but the key. */
static int codex_key_load(struct cred *c, const char *path, struct err *err)
{
	cleanup_(file_login_done) struct file_login l = {0};
	int r = file_login_read(c->host, path, &codex_key_kind, &l, NULL, err);

	if (r == -EINVAL && c->value)
		return 0; /* somebody is writing it */
	if (r == -ENOENT)
		return err_set(err, ENOENT, "'%s' holds no key any more; run: codex login", path);
	if (r == 0)
		cred_set_value(c, l.access);
	return r;
}

static void key_needs(const struct cred *c, struct cred_needs *n)
{
	const char *codex = cred_source_is(c->source, "codex");

	if (codex)
		strv_push(&n->files, codex);
	else
		cred_needs_source(n, c);
}

static int key_load(struct cred *c, bool again, struct err *err)
{
	const char *codex = cred_source_is(c->source, "codex");
	cleanup_secret char *key = NULL;
	int r;

	if (codex)
		return codex_key_load(c, codex, err);
	if (c->value && !again)
		return 0;
	r = cred_source_read(c, &key, err);
	if (r == 0)
		cred_set_value(c, key);
	return r;
}

static int key_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err)
{
	cred_header_set(ret, "Authorization", "Bearer", c->value);
	ret->keep_ms = CRED_KEEP_MS;
	return 0;
}

/* The variable by which Codex itself is told another server. */
static const char *token_url(const struct cred *c)
{
	const char *url = cred_host_env(c->host, "CODEX_REFRESH_TOKEN_URL_OVERRIDE");

	return url ? url : TOKEN_URL;
}

static int post(struct cred *c, const struct file_login *old, struct oauth_tokens *ret,
		struct err *err)
{
	cleanup_secret_json json_t *j =
		json_pack("{ss ss ss}", "client_id", CLIENT_ID, "grant_type", "refresh_token",
			  "refresh_token", old->refresh);
	cleanup_secret char *body = json_dumps(j, JSON_COMPACT);

	return file_login_post(c, token_url(c), "application/json", body, ret, err);
}

static const struct file_login_kind kind = {
	.login = "codex login",
	.parse = codex_login_parse,
	.update = codex_login_update,
	.post = post,
};

static void chatgpt_needs(const struct cred *c, struct cred_needs *n)
{
	file_login_needs(c, token_url(c), n);
}

/* own: the account's id. */
static int chatgpt_load(struct cred *c, bool again, struct err *err)
{
	return file_login_load(c, &kind, (char **)&c->own, err);
}

static int chatgpt_renew(struct cred *c, struct err *err)
{
	return file_login_renew(c, &kind, err);
}

static int chatgpt_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
			  struct err *err)
{
	cred_header_set(ret, "Authorization", "Bearer", c->value);
	strv_push(&ret->drop, "chatgpt-account-id");
	if (c->own)
		strv_pushf(&ret->set, "chatgpt-account-id: %s", (const char *)c->own);
	ret->keep_ms =
		cred_expires_within(c, CRED_RENEW_AHEAD_MS + CRED_KEEP_MS) ? 0 : CRED_KEEP_MS;
	return 0;
}

static void chatgpt_done(struct cred *c)
{
	c->own = cred_secret_free(c->own);
}

const struct cred_holder cred_openai_key_holder = {
	.needs = key_needs,
	.load = key_load,
	.header = key_header,
};

const struct cred_holder cred_openai_chatgpt_holder = {
	.needs = chatgpt_needs,
	.load = chatgpt_load,
	.renew = chatgpt_renew,
	.header = chatgpt_header,
	.done = chatgpt_done,
};
