#include "cred/openai.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/probe/provider-rows.h"
#include "cred/token.h"

#define LOGIN "codex login"
#define OWN_KEY "CODEX_API_KEY" /* Codex takes it before its own file */

/* The requests of a conversation; none about files, batches, fine-tuning, organisation or keys. */
static const char *const key_requests[] = {
	"POST /v1/responses responses",
	"POST /v1/responses/compact responses",
	"POST /v1/responses/input_tokens free",
	"POST /v1/responses/** unknown",
	"POST /v1/chat/completions chat",
	"POST /v1/chat/completions/** unknown",
	"GET /v1/models",
	"GET /v1/models/*",
	NULL,
};

/* The requests allowed with a ChatGPT login; their paths are relative to the origin's own path. */
static const char *const chatgpt_requests[] = {
	"POST /responses responses",
	"POST /responses/compact responses",
	"POST /responses/** unknown",
	"GET /models",
	"GET /models/*",
	NULL,
};

char *codex_auth_path(const struct cred_host *h)
{
	const char *dir = cred_host_env(h, "CODEX_HOME");

	return dir ? path_join(dir, "auth.json") : cred_host_home(h, ".codex/auth.json");
}

static const struct file_login_kind chatgpt_kind = {.login = "codex login",
						    .parse = codex_login_parse};

static enum cred_probe probe_key(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_(file_login_done) struct file_login l = {0};
	cleanup_free char *path = codex_auth_path(h);
	int r;

	if (cred_host_env(h, OWN_KEY)) {
		ret->source = xstrdup("env:" OWN_KEY);
		return CRED_FOUND;
	}
	r = file_login_read(h, path, &codex_key_kind, &l, &ret->warning, err);
	if (r < 0 && r != -ENOENT)
		return CRED_UNUSABLE;
	if (r < 0 && !cred_host_env(h, "OPENAI_API_KEY"))
		return CRED_MISSING;
	ret->source = r == 0 ? xasprintf("codex:%s", path) : xstrdup("env:OPENAI_API_KEY");
	return CRED_FOUND;
}

static enum cred_probe probe_chatgpt(const struct cred_host *h, struct cred_ref *ret,
				     struct err *err)
{
	cleanup_(file_login_done) struct file_login l = {0};
	cleanup_free char *path = codex_auth_path(h);
	int r;

	if (cred_host_env(h, OWN_KEY))
		return CRED_MISSING;
	r = file_login_read(h, path, &chatgpt_kind, &l, &ret->warning, err);
	if (r == -ENOENT)
		return CRED_MISSING;
	if (r < 0)
		return CRED_UNUSABLE;
	if (!l.refresh && l.expires_ms && l.expires_ms <= cred_host_now(h)) {
		(void)err_set(err, EKEYEXPIRED,
			      "'%s' has expired and cannot be renewed; run: " LOGIN, path);
		return CRED_UNUSABLE;
	}
	ret->source = xasprintf("file:%s", path);
	ret->expires_ms = l.expires_ms;
	ret->renewable = l.refresh != NULL;
	return CRED_FOUND;
}

const struct cred_provider cred_openai_chatgpt = {
	.name = "openai-chatgpt",
	.ends = true,
	.service = "openai",
	.origin = "https://chatgpt.com/backend-api/codex",
	.endpoint = "openai",
	.phantom = "ralph-",
	.login = LOGIN,
	.requests = chatgpt_requests,
	.file = &(const struct cred_login_file){"CODEX_HOME", ".codex", "auth.json"},
	.probe = probe_chatgpt,
};

const struct cred_provider cred_openai_key = {
	.name = "openai-key",
	.service = "openai",
	.origin = "https://api.openai.com",
	.endpoint = "openai",
	.phantom = "sk-proj-",
	.login = LOGIN,
	.requests = key_requests,
	.probe = probe_key,
};
