#include "policy/refused-env.h"

#include <fnmatch.h>
#include <string.h>

#include "base/text/mask.h"

/* These tokens carry the user's identity as well as the right to push. A rule can allow pushing. */
static const char *const names[] = {"GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN",
				    "GITHUB_ENTERPRISE_TOKEN"};

bool refused_env_match(const char *pattern, const char *text)
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

int refused_env_check(const char *name, const char *value, const struct strv *patterns,
		      const char *source, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return refused(err, name, source, "this name is always refused");
	for (size_t i = 0; i < patterns->n; i++) {
		const char *p = patterns->v[i];

		if (refused_env_match(p, name) || (value && refused_env_match(p, value))) {
			cleanup_free char *why = xasprintf("it matches '%.60s' of env.refuse", p);

			return refused(err, name, source, why);
		}
	}
	if (value && mask_is_key(value))
		return refused(err, name, source, "its value looks like a key or token");
	return 0;
}
