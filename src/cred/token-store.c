#include "cred/token-store.h"

#include <string.h>

#include "base/json/json.h"
#include "cred/run.h"

char *cred_store_path(const struct cred_host *h, const char *service)
{
	return xasprintf("%s/" CRED_TOKENS "/%s.json", h->config, service);
}

void cred_stored_done(struct cred_stored *s)
{
	free(s->path);
	(void)cred_secret_free(s->token);
	free(s->warning);
	*s = (struct cred_stored){0};
}

static int parse(const char *text, size_t len, struct cred_stored *s, struct err *err)
{
	cleanup_json json_t *j = NULL;
	const char *where = "", *kind = "", *token = NULL;
	struct err torn;
	int r;

	if (json_parse(text, len, &j, &torn) < 0)
		return err_set(err, EINVAL, "it is no whole JSON object");
	r = json_get_str(j, "where", &where, err);
	if (r == 0)
		r = json_get_str(j, "kind", &kind, err);
	if (r == 0)
		r = json_get_uint(j, "stored_ms", &s->stored_ms, err);
	if (r == 0)
		r = json_get_uint(j, "expires_ms", &s->expires_ms, err);
	if (r == 0)
		r = json_opt_str(j, "token", &token, err);
	if (r < 0)
		return r;
	s->secret_service = streq(where, "secret-service");
	s->is_key = streq(kind, "key");
	if (!s->secret_service && (!token || !*token))
		return err_set(err, EINVAL, "it holds no token");
	s->token = token ? xstrdup(token) : NULL;
	return 0;
}

int cred_stored_look(const struct cred_host *h, const char *service, struct cred_stored *ret,
		     struct err *err)
{
	cleanup_(cred_stored_done) struct cred_stored s = {0};
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	s.path = cred_store_path(h, service);
	r = cred_read_file(h, s.path, &b, &s.warning, err);
	if (r < 0)
		return r;
	r = parse(buf_str(&b), b.len, &s, err);
	if (r < 0)
		return err_wrap(err, r, "'%s'", s.path);
	*ret = s;
	s = (struct cred_stored){0};
	return 0;
}

void cred_store_lookup_argv(const char *service, struct strv *ret)
{
	static const char *const words[] = {"secret-tool", "lookup", "application", "ralph",
					    "service"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strv_push(ret, words[i]);
	strv_push(ret, service);
}

int cred_store_lookup(const struct cred_host *h, const char *service, char **ret, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	int code = 0, r;

	cred_store_lookup_argv(service, &argv);
	r = cred_run(h, argv.v, NULL, SECRET_TOOL_MS, ret, &code, err);
	return r < 0 || code == 0 ? r : err_set(err, EIO, "secret-tool lookup failed");
}

int cred_stored_token(const struct cred_host *h, const char *service, char **ret, struct err *err)
{
	cleanup_(cred_stored_done) struct cred_stored s = {0};
	cleanup_secret char *out = NULL;
	int r = cred_stored_look(h, service, &s, err);

	if (r == -ENOENT)
		return err_set(err, ENOENT, "no token is stored for %s; run: ralph store-token",
			       service);
	if (r < 0)
		return r;
	if (!s.secret_service) {
		*ret = take_ptr(s.token);
		return 0;
	}
	r = cred_store_lookup(h, service, &out, err);
	if (r < 0 || !out || !*out)
		return err_set(err, ENOENT,
			       "the Secret Service does not give the token of %s; unlock it, or "
			       "run: ralph store-token",
			       service);
	*ret = take_ptr(out);
	return 0;
}
