#include "cred/hold/holders.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "cred/anthropic.h"
#include "cred/claude-file.h"
#include "cred/hold/cred-broker.h"
#include "cred/hold/claude-login.h"
#include "cred/run.h"

#define HELPER_KEEP_MS (300 * 1000) /* Claude Code asks its apiKeyHelper as often */

/* apiKeyHelper: the command is read anew each time, as the user may change it. */
static int run_helper(const struct cred *c, const char *settings, char **ret, struct err *err)
{
	cleanup_free char *command = NULL;
	int r = anthropic_key_helper(c->host, settings, &command, err);
	char *source;
	struct cred as;

	if (r < 0)
		return err_set(err, ENOENT, "'%s' names no apiKeyHelper any more", settings);
	source = xasprintf("command:%s", command);
	as = *c;
	as.source = source;
	r = cred_source_read(&as, ret, err);
	free(source);
	return r < 0 ? err_wrap(err, r, "apiKeyHelper of '%s'", settings) : 0;
}

static void key_needs(const struct cred *c, struct cred_needs *n)
{
	const char *settings = cred_source_is(c->source, "helper");

	if (!settings) {
		cred_needs_source(n, c);
		return;
	}
	strv_push(&n->files, settings);
	cred_needs_program(n, NULL, settings);
}

static int key_load(struct cred *c, bool again, struct err *err)
{
	const char *settings = cred_source_is(c->source, "helper");
	cleanup_secret char *key = NULL;
	int r;

	/* A command costs its user something; a variable does not change, and what was stored may
	 * be gone by now. */
	if (c->value && !again && !cred_source_is(c->source, "store") &&
	    now_ms() - c->loaded_ms < HELPER_KEEP_MS)
		return 0;
	r = settings ? run_helper(c, settings, &key, err) : cred_source_read(c, &key, err);
	if (r < 0)
		return r;
	cred_set_value(c, key);
	c->loaded_ms = now_ms();
	return 0;
}

static int key_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
		      struct err *err)
{
	cred_header_set(ret, "x-api-key", NULL, c->value);
	ret->keep_ms = CRED_KEEP_MS;
	return 0;
}

static void oauth_needs(const struct cred *c, struct cred_needs *n)
{
	const char *path = cred_source_is(c->source, "file");

	if (path)
		claude_login_needs(c, path, n);
	else
		key_needs(c, n);
}

static int oauth_load(struct cred *c, bool again, struct err *err)
{
	const char *path = cred_source_is(c->source, "file");

	return path ? claude_login_load(c, path, err) : key_load(c, again, err);
}

static int oauth_renew(struct cred *c, struct err *err)
{
	return claude_login_renew(c, cred_source_is(c->source, "file"), err);
}

/* The client got CLAUDE_CODE_OAUTH_TOKEN, so its anthropic-beta names oauth already. */
static int oauth_header(struct cred *c, const struct cred_request *r, struct cred_header *ret,
			struct err *err)
{
	cred_header_set(ret, "Authorization", "Bearer", c->value);
	/* The gateway may not keep the header beyond the moment of the next renewal. */
	ret->keep_ms =
		cred_expires_within(c, CRED_RENEW_AHEAD_MS + CRED_KEEP_MS) ? 0 : CRED_KEEP_MS;
	return 0;
}

const struct cred_holder cred_anthropic_key_holder = {
	.needs = key_needs,
	.load = key_load,
	.header = key_header,
};

const struct cred_holder cred_anthropic_oauth_holder = {
	.needs = oauth_needs,
	.load = oauth_load,
	.renew = oauth_renew,
	.header = oauth_header,
	.done = claude_login_forget,
};
