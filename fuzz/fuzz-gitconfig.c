#include "fuzz.h"

#include "base/mem.h"
#include "policy/gitconfig.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool check(const struct gitconfig_entry *e, void *arg)
{
	size_t *n = arg;

	for (const char *p = e->key; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-')
			abort();
	if (!*e->section || !*e->key)
		abort();
	++*n;
	return false;
}

/* Names are names, and a value stands in an entry. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t n = 0;
	int r = gitconfig_each(text, size, check, &n);
	char *value = gitconfig_get(text, size, "core", "worktree");

	if (r > 0 || (value && n == 0))
		abort();
	free(value);
	return 0;
}
