#include "policy/refuse.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* They stand for an identity as much as for a right: whoever wants to push has a rule for it. */
static const char *const names[] = {"GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN",
				    "GITHUB_ENTERPRISE_TOKEN"};

/* What a secret begins with, and how many more of [A-Za-z0-9_.-] it has at least. */
/* clang-format off */
static const struct {
	const char *begin;
	size_t more;
	const char *kind;
} shapes[] = {
	{"sk-ant-",     16, "an Anthropic key"},
	{"sk-proj-",    16, "an OpenAI key"},
	{"sk-svcacct-", 16, "an OpenAI key"},
	{"sk-or-v1-",   16, "an OpenRouter key"},
	{"sk-",         40, "an API key"},
	{"ghp_",        20, "a GitHub token"},
	{"gho_",        20, "a GitHub token"},
	{"ghu_",        20, "a GitHub token"},
	{"ghs_",        20, "a GitHub token"},
	{"ghr_",        20, "a GitHub token"},
	{"github_pat_", 20, "a GitHub token"},
	{"glpat-",      16, "a GitLab token"},
	{"AKIA",        16, "an AWS access key"},
	{"ASIA",        16, "an AWS access key"},
	{"AIza",        30, "a Google API key"},
	{"ya29.",       16, "a Google access token"},
	{"GOCSPX-",     16, "a Google client secret"},
	{"xoxb-",       16, "a Slack token"},
	{"xoxp-",       16, "a Slack token"},
	{"xoxa-",       16, "a Slack token"},
	{"xapp-",       16, "a Slack token"},
	{"npm_",        30, "an npm token"},
	{"pypi-",       40, "a PyPI token"},
	{"hf_",         20, "a Hugging Face token"},
	{"dckr_pat_",   16, "a Docker token"},
	{"sk_live_",    16, "a Stripe key"},
	{"rk_live_",    16, "a Stripe key"},
	{"eyJ",         60, "a signed token"},
};
/* clang-format on */

static bool in_token(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static size_t token_len(const char *s)
{
	size_t n = 0;

	while (in_token(s[n]))
		n++;
	return n;
}

const char *refuse_secret_kind(const char *text)
{
	if (strstr(text, "-----BEGIN ") && strstr(text, "PRIVATE KEY-----"))
		return "a private key";
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t n = strlen(shapes[i].begin);

		for (const char *at = text; (at = strstr(at, shapes[i].begin)); at++) {
			/* In the middle of a word it is no beginning. */
			if (at > text && in_token(at[-1]))
				continue;
			if (token_len(at) >= n + shapes[i].more)
				return shapes[i].kind;
		}
	}
	return NULL;
}

bool refuse_match(const char *pattern, const char *text)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, pattern) != NULL;
}

static int refused(struct err *err, const char *name, const char *source, const char *why)
{
	int r = err_set(err, EPERM,
			"%s: %s must not go into a sandbox: %s; take it out of the setting. A "
			"credential reaches its own host without being inside: ralph-agents(7)",
			source, name, why);

	err->exit_code = EXIT_REFUSED;
	return r;
}

int refuse_check(const char *name, const char *value, const struct strv *patterns,
		 const char *source, struct err *err)
{
	const char *kind = value ? refuse_secret_kind(value) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return refused(err, name, source, "this name is always refused");
	for (size_t i = 0; i < patterns->n; i++) {
		const char *p = patterns->v[i];

		if (refuse_match(p, name) || (value && refuse_match(p, value))) {
			cleanup_free char *why = xasprintf("it matches '%.60s' of env.refuse", p);

			return refused(err, name, source, why);
		}
	}
	if (kind) {
		cleanup_free char *why = xasprintf("its value looks like %s", kind);

		return refused(err, name, source, why);
	}
	return 0;
}
