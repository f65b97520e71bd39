#include "cred/gemini.h"

#include <string.h>

#include "base/json/json.h"
#include "cred/probe/provider-rows.h"
#include "cred/token.h"

#define LOGIN "gemini, and choose to log in with Google"

static const char *const key_requests[] = {
	"POST /v1beta/models/*:generateContent gemini",
	"POST /v1beta/models/*:streamGenerateContent gemini",
	"POST /v1beta/models/*:countTokens free",
	"POST /v1beta/models/** unknown", /* images, videos, batches */
	"GET /v1beta/models",
	"GET /v1beta/models/**",
	NULL,
};

/* The Gemini CLI's requests to Code Assist in a conversation; none that changes the account. */
static const char *const oauth_requests[] = {
	"POST /v1internal:generateContent gemini",  "POST /v1internal:streamGenerateContent gemini",
	"POST /v1internal:countTokens free",	    "POST /v1internal:loadCodeAssist free",
	"POST /v1internal:listExperiments free",    "POST /v1internal:retrieveUserQuota free",
	"POST /v1internal:fetchAdminControls free", NULL,
};

static const struct file_login_kind kind = {.login = LOGIN, .parse = gemini_login_parse};

/* Tells whether the Gemini CLI's settings choose the login, on a host that has a key as well. */
static bool chose_oauth(const struct cred_host *h)
{
	cleanup_free char *path = cred_host_home(h, ".gemini/settings.json");
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err ignored = {0};
	const json_t *auth;
	const char *type;

	buf_init(&b, CRED_FILE_MAX);
	/* Torn settings are the Gemini CLI's to complain about; they choose nothing. */
	if (cred_read_file(h, path, &b, NULL, &ignored) < 0 ||
	    json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return false;
	auth = json_object_get(json_object_get(j, "security"), "auth");
	type = json_string_value(json_object_get(auth, "selectedType"));
	return type && streq(type, "oauth-personal");
}

static bool is_expired(const struct cred_host *h, const struct file_login *l)
{
	return l->expires_ms && l->expires_ms <= cred_host_now(h);
}

static int check_renewable(const struct cred_host *h, const struct file_login *l, const char *path,
			   struct err *err)
{
	cleanup_(google_user_done) struct google_user client = {0};

	if (!is_expired(h, l))
		return 0;
	if (!l->refresh)
		return err_set(err, EKEYEXPIRED,
			       "'%s' has expired and cannot be renewed; run: " LOGIN, path);
	if (gemini_client(h, &client, err) < 0)
		return err_wrap(err, -EKEYEXPIRED, "'%s' has expired", path);
	return 0;
}

static enum cred_probe probe_oauth(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	static const char *const files[] = {".gemini/oauth_creds.json",
					    ".config/gemini/credentials.json"};
	const char *project = cred_host_env(h, "GOOGLE_CLOUD_PROJECT");

	if (cred_host_env(h, "GEMINI_API_KEY") && !chose_oauth(h))
		return CRED_MISSING;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_(file_login_done) struct file_login l = {0};
		cleanup_free char *path = cred_host_home(h, files[i]);
		int r = file_login_read(h, path, &kind, &l, &ret->warning, err);

		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = check_renewable(h, &l, path, err);
		if (r < 0)
			return CRED_UNUSABLE;
		ret->source = xasprintf("file:%s", path);
		ret->expires_ms = l.expires_ms;
		ret->renewable = l.refresh != NULL;
		if (project)
			strv_pushf(&ret->options, "project=%s", project);
		return CRED_FOUND;
	}
	return CRED_MISSING;
}

static enum cred_probe probe_key(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	if (!cred_host_env(h, "GEMINI_API_KEY"))
		return CRED_MISSING;
	ret->source = xstrdup("env:GEMINI_API_KEY");
	return CRED_FOUND;
}

const struct cred_provider cred_gemini_oauth = {
	.name = "gemini-oauth",
	.ends = true,
	.service = "gemini",
	.origin = "https://cloudcode-pa.googleapis.com",
	.endpoint = "gemini",
	.phantom = "ya29.",
	.login = LOGIN,
	.requests = oauth_requests,
	.file = &(const struct cred_login_file){NULL, ".gemini", "oauth_creds.json"},
	.probe = probe_oauth,
};

const struct cred_provider cred_gemini_key = {
	.name = "gemini-key",
	.service = "gemini",
	.origin = "https://generativelanguage.googleapis.com",
	.endpoint = "gemini",
	.phantom = "AIza",
	.login = "export GEMINI_API_KEY=…",
	.requests = key_requests,
	.probe = probe_key,
};
