#include "fuzz.h"

#include "base/buf.h"
#include "policy/git-admit.h"
#include "policy/gitconfig.h"

#include <stdlib.h>
#include <string.h>

/* No user before a host: what stands between "://" and the next slash has no '@', but for git's. */
static void check_text(const char *s)
{
	for (const char *p = strstr(s, "://"); p; p = strstr(p + 3, "://")) {
		size_t n = strcspn(p + 3, "/?# \t\n\"'`;|&<>()");
		const char *at = memchr(p + 3, '@', n);

		if (at && (at - (p + 3) != 3 || memcmp(p + 3, "git", 3) != 0))
			abort();
	}
}

static bool check(const struct gitconfig_entry *e, void *arg)
{
	if (strcmp(e->section, "credential") == 0 || strcmp(e->section, "http") == 0 ||
	    strcmp(e->section, "include") == 0 || strcmp(e->section, "url") == 0)
		abort();
	if (e->sub)
		check_text(e->sub);
	if (e->value)
		check_text(e->value);
	return false;
}

/* Of an agent's settings the host takes three keys. */
static bool check_host(const struct gitconfig_entry *e, void *arg)
{
	bool remote = strcmp(e->section, "remote") == 0 &&
		      (strcmp(e->key, "url") == 0 || strcmp(e->key, "fetch") == 0);
	bool branch = strcmp(e->section, "branch") == 0 &&
		      (strcmp(e->key, "remote") == 0 || strcmp(e->key, "merge") == 0);

	if ((!remote && !branch) || !e->sub || !e->value || strstr(e->value, "::") ||
	    e->value[0] == '-' || e->sub[0] == '-')
		abort();
	return check(e, arg);
}

/* Whatever is admitted can be read again, and holds nothing that must stay outside. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct git_admit with = {0};
	struct buf b;

	buf_init(&b, 4 * MiB);
	if (git_admit_config((const char *)data, size, &with, &b) == 0 &&
	    gitconfig_each(buf_str(&b), b.len, check, NULL) != 0)
		abort();
	buf_clear(&b);
	if (git_admit_remotes((const char *)data, size, &b) == 0 &&
	    gitconfig_each(buf_str(&b), b.len, check_host, NULL) != 0)
		abort();
	buf_done(&b);
	return 0;
}
