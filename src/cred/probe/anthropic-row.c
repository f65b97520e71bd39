#include "cred/anthropic.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/claude-file.h"
#include "cred/probe/claude-env.h"
#include "cred/probe/provider-rows.h"
#include "cred/token-store.h"

#define SERVICE "anthropic"
#define ORIGIN "https://api.anthropic.com"
#define LOGIN "claude /login"

/* The requests of a Claude Code conversation; none that lists, makes or changes keys. */
static const char *const requests[] = {
	"POST /v1/messages messages",
	"POST /v1/messages/count_tokens free",
	"POST /v1/messages/** unknown", /* batches */
	"GET /v1/models",
	"GET /v1/models/*",
	NULL,
};

/* A token of ralph's own store, of the wanted kind. */
static enum cred_probe probe_stored(const struct cred_host *h, bool is_key, struct cred_ref *ret,
				    struct err *err)
{
	cleanup_(cred_stored_done) struct cred_stored s = {0};
	int r = cred_stored_look(h, SERVICE, &s, err);

	if (r == -ENOENT)
		return CRED_MISSING;
	if (r < 0) {
		(void)err_wrap(err, r, "the stored token");
		(void)err_hint(err, r, "run: ralph store-token");
		return CRED_UNUSABLE;
	}
	if (s.is_key != is_key)
		return CRED_MISSING;
	if (s.expires_ms && s.expires_ms <= cred_host_now(h)) {
		(void)err_set(err, EKEYEXPIRED,
			      "the token in '%s' has expired; run: ralph store-token", s.path);
		return CRED_UNUSABLE;
	}
	ret->source = xstrdup("store:" SERVICE);
	ret->expires_ms = s.expires_ms;
	ret->warning = take_ptr(s.warning);
	return CRED_FOUND;
}

static bool probe_env(const struct cred_host *h, const char *name, struct cred_ref *ret)
{
	if (!cred_host_env(h, name))
		return false;
	ret->source = xasprintf("env:%s", name);
	return true;
}

static enum cred_probe probe_key(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_free char *dir = claude_dir(h), *settings = path_join(dir, "settings.json");
	cleanup_free char *command = NULL;
	enum cred_probe stored;

	if (probe_env(h, "ANTHROPIC_API_KEY", ret))
		return CRED_FOUND;
	stored = probe_stored(h, true, ret, err);
	if (stored != CRED_MISSING)
		return stored;
	/* A token in the environment is stronger than the settings. */
	if (cred_host_env(h, "CLAUDE_CODE_OAUTH_TOKEN") ||
	    anthropic_key_helper(h, settings, &command, err) < 0)
		return CRED_MISSING;
	ret->source = xasprintf("helper:%s", settings);
	return CRED_FOUND;
}

static enum cred_probe unusable(struct err *err, int r, const char *path)
{
	(void)err_wrap(err, r, "'%s'", path);
	(void)err_hint(err, r, "run: " LOGIN);
	return CRED_UNUSABLE;
}

/* Claude Code's own login. */
static enum cred_probe probe_file(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_free char *dir = claude_dir(h), *path = path_join(dir, ".credentials.json");
	cleanup_(claude_login_done) struct claude_login l = {0};
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(h, path, &b, &ret->warning, err);
	if (r == -ENOENT)
		return CRED_MISSING;
	if (r < 0) {
		(void)err_hint(err, r, "make it yours (chmod 600), or run: " LOGIN);
		return CRED_UNUSABLE;
	}
	r = claude_login_parse(buf_str(&b), b.len, &l, err);
	if (r == -ENOENT)
		return CRED_MISSING;
	if (r < 0)
		return unusable(err, r, path);
	if (l.expires_ms && l.expires_ms <= cred_host_now(h) && !l.refresh)
		return unusable(err,
				err_set(err, EKEYEXPIRED,
					"the login in it has expired and cannot be renewed"),
				path);
	ret->source = xasprintf("file:%s", path);
	ret->expires_ms = l.expires_ms;
	ret->renewable = l.refresh != NULL;
	if (l.subscription)
		strv_pushf(&ret->options, "subscription=%s", l.subscription);
	return CRED_FOUND;
}

static enum cred_probe probe_oauth(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	enum cred_probe stored;

	if (probe_env(h, "CLAUDE_CODE_OAUTH_TOKEN", ret))
		return CRED_FOUND;
	stored = probe_stored(h, false, ret, err);
	return stored == CRED_MISSING ? probe_file(h, ret, err) : stored;
}

const struct cred_provider cred_anthropic_key = {
	.name = "anthropic-key",
	.service = SERVICE,
	.origin = ORIGIN,
	.endpoint = SERVICE,
	/* On a terminal Claude Code asks whether to use a key it does not know, and knows one by
	 * its last 20 characters: with these in its settings it need not ask. */
	.phantom = "sk-ant-api03-*-ralph-phantom-000000",
	.login = "export ANTHROPIC_API_KEY=…",
	.requests = requests,
	.probe = probe_key,
};

const struct cred_provider cred_anthropic_oauth = {
	.name = "anthropic-oauth",
	.service = SERVICE,
	.origin = ORIGIN,
	.endpoint = SERVICE,
	.phantom = "sk-ant-oat01-",
	.login = LOGIN,
	.requests = requests,
	.file = &(const struct cred_login_file){"CLAUDE_CONFIG_DIR", ".claude",
						".credentials.json"},
	.probe = probe_oauth,
};
