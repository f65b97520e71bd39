#include "cred/cred.h"

#include <string.h>

#include "cred/probe/claude-env.h"
#include "cred/probe/provider-rows.h"

#define KEY "ANTHROPIC_FOUNDRY_API_KEY"

static const char *const requests[] = {
	"POST /v1/messages messages",
	"POST /v1/messages/count_tokens free",
	"POST /v1/messages/** unknown",
	NULL,
};

static bool is_resource(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

	return n > 0 && n <= 63 && s[n] == '\0' && s[0] != '-';
}

/* Claude Code is told the whole address, or the resource that it is made from. */
static int find_origin(const struct claude_env *e, struct cred_ref *ret, struct err *err)
{
	const char *base = claude_env_get(e, "ANTHROPIC_FOUNDRY_BASE_URL");
	const char *resource = claude_env_get(e, "ANTHROPIC_FOUNDRY_RESOURCE");
	size_t n = base ? strlen(base) : 0;

	while (n && base[n - 1] == '/')
		n--;
	if (n) {
		if (strncmp(base, "https://", 8) != 0 || strpbrk(base, "?#@ \\\""))
			return err_set(err, EINVAL,
				       "ANTHROPIC_FOUNDRY_BASE_URL is no address; write "
				       "https://HOST/PATH");
		ret->origin = xstrndup(base, n);
		return 0;
	}
	if (!resource || !is_resource(resource))
		return err_set(err, ENOENT,
			       "no resource is set; set ANTHROPIC_FOUNDRY_RESOURCE to its name");
	ret->origin = xasprintf("https://%s.services.ai.azure.com/anthropic", resource);
	return 0;
}

static enum cred_probe probe(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_(claude_env_done) struct claude_env e;
	int r = claude_env_load(h, &e, err);

	if (r < 0)
		return CRED_UNUSABLE;
	if (!claude_env_on(&e, "CLAUDE_CODE_USE_FOUNDRY"))
		return CRED_MISSING;
	r = find_origin(&e, ret, err);
	if (r == 0 && !cred_host_env(h, KEY))
		r = err_set(err, ENOENT, "there is no key in your environment; set " KEY);
	if (r < 0) {
		(void)err_wrap(err, r, "Foundry is switched on by CLAUDE_CODE_USE_FOUNDRY");
		return CRED_UNUSABLE;
	}
	ret->source = xstrdup("env:" KEY);
	claude_env_models(&e, &ret->options);
	return CRED_FOUND;
}

const struct cred_provider cred_foundry = {
	.name = "foundry",
	.service = "anthropic",
	.endpoint = "foundry",
	.phantom = "ralph-",
	.login = "export " KEY "=…",
	.requests = requests,
	.probe = probe,
};
