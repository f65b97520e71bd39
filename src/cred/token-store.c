#include "cred/token-store.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "cred/run.h"

#define TOKENS "tokens"
#define SECRET_TOOL_MS 20000 /* the user may have to unlock the keyring */

static char *store_path(const struct cred_host *h, const char *service)
{
	return xasprintf("%s/" TOKENS "/%s.json", h->config, service);
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
	s.path = store_path(h, service);
	r = cred_read_file(s.path, &b, &s.warning, err);
	if (r < 0)
		return r;
	r = parse(buf_str(&b), b.len, &s, err);
	if (r < 0)
		return err_wrap(err, r, "'%s'", s.path);
	*ret = s;
	s = (struct cred_stored){0};
	return 0;
}

static int secret_tool(const struct cred_host *h, const char *verb, const char *service,
		       const char *in, char **ret_out, struct err *err)
{
	cleanup_strv struct strv argv;
	int code = 0, r;

	strv_init(&argv);
	strv_push(&argv, "secret-tool");
	strv_push(&argv, verb);
	if (in)
		strv_pushf(&argv, "--label=ralph: %s", service);
	strv_push(&argv, "application");
	strv_push(&argv, "ralph");
	strv_push(&argv, "service");
	strv_push(&argv, service);
	r = cred_run(h, argv.v, in, SECRET_TOOL_MS, ret_out, &code, err);
	if (r < 0)
		return r;
	return code == 0 ? 0 : err_set(err, EIO, "secret-tool %s failed", verb);
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
	r = secret_tool(h, "lookup", service, NULL, &out, err);
	if (r < 0 || !out || !*out)
		return err_set(err, ENOENT,
			       "the Secret Service does not give the token of %s; unlock it, or "
			       "run: ralph store-token",
			       service);
	*ret = take_ptr(out);
	return 0;
}

/*
 * A token counts as stored only when it can be read back: some hosts have the program and no
 * service behind it.
 */
static bool into_secret_service(const struct cred_host *h, const char *service, const char *token)
{
	cleanup_secret char *back = NULL;
	struct err ignored;

	return secret_tool(h, "store", service, token, NULL, &ignored) == 0 &&
	       secret_tool(h, "lookup", service, NULL, &back, &ignored) == 0 && back &&
	       streq(back, token);
}

static int open_dir(const struct cred_host *h, struct err *err)
{
	cleanup_free char *dir = path_join(h->config, TOKENS);
	int r = path_mkdirs(h->config, 0700, err), fd;

	if (r == 0)
		r = path_private_dir(dir, err);
	if (r < 0)
		return r;
	fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", dir) : fd;
}

int cred_store_put(const struct cred_host *h, const char *service, const char *token, bool is_key,
		   uint64_t expires_ms, bool *ret_secret_service, struct err *err)
{
	cleanup_free char *name = xasprintf("%s.json", service);
	cleanup_json json_t *j = NULL;
	cleanup_secret char *text = NULL;
	cleanup_fd int dir = open_dir(h, err);
	int r;

	if (dir < 0)
		return dir;
	*ret_secret_service = into_secret_service(h, service, token);
	j = json_pack("{ss ss sI sI ss*}", "where", *ret_secret_service ? "secret-service" : "file",
		      "kind", is_key ? "key" : "oauth", "stored_ms", (json_int_t)cred_host_now(h),
		      "expires_ms", (json_int_t)expires_ms, "token",
		      *ret_secret_service ? NULL : token);
	text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	if (!text)
		return err_set(err, EINVAL, "the token is not text");
	r = path_write_atomic(dir, name, text, strlen(text), 0600, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/" TOKENS "/%s'", h->config, name) : 0;
}

int cred_store_drop(const struct cred_host *h, const char *service, struct err *err)
{
	cleanup_(cred_stored_done) struct cred_stored s = {0};
	cleanup_free char *path = store_path(h, service);
	int r = cred_stored_look(h, service, &s, err);

	if (r == -ENOENT)
		return r;
	/* A torn file is removed like any other. */
	if (r == 0 && s.secret_service) {
		r = secret_tool(h, "clear", service, NULL, NULL, err);
		if (r < 0)
			return r;
	}
	return unlink(path) < 0 ? err_sys(err, errno, "cannot remove '%s'", path) : 0;
}
