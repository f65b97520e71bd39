#include "cred/token-store.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "cred/run.h"

/* verb: "store" with the token on its stdin, or "clear". */
static int secret_tool(const struct cred_host *h, const char *verb, const char *service,
		       const char *in, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	int code = 0, r;

	strv_push(&argv, "secret-tool");
	strv_push(&argv, verb);
	if (in)
		strv_pushf(&argv, "--label=ralph: %s", service);
	strv_push(&argv, "application");
	strv_push(&argv, "ralph");
	strv_push(&argv, "service");
	strv_push(&argv, service);
	r = cred_run(h, argv.v, in, SECRET_TOOL_MS, NULL, &code, err);
	if (r < 0)
		return r;
	return code == 0 ? 0 : err_set(err, EIO, "secret-tool %s failed", verb);
}

/*
 * A token counts as stored only when it can be read back: some hosts have the program and no
 * service behind it.
 */
static bool into_secret_service(const struct cred_host *h, const char *service, const char *token)
{
	cleanup_secret char *back = NULL;
	struct err ignored;

	return secret_tool(h, "store", service, token, &ignored) == 0 &&
	       cred_store_lookup(h, service, &back, &ignored) == 0 && back && streq(back, token);
}

static int open_dir(const struct cred_host *h, struct err *err)
{
	cleanup_free char *dir = path_join(h->config, CRED_TOKENS);
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
	return r < 0 ? err_sys(err, -r, "cannot write '%s/" CRED_TOKENS "/%s'", h->config, name)
		     : 0;
}

int cred_store_drop(const struct cred_host *h, const char *service, struct err *err)
{
	cleanup_(cred_stored_done) struct cred_stored s = {0};
	cleanup_free char *path = cred_store_path(h, service);
	int r = cred_stored_look(h, service, &s, err);

	if (r == -ENOENT)
		return r;
	/* A torn file is removed like any other. */
	if (r == 0 && s.secret_service) {
		r = secret_tool(h, "clear", service, NULL, err);
		if (r < 0)
			return r;
	}
	return unlink(path) < 0 ? err_sys(err, errno, "cannot remove '%s'", path) : 0;
}
