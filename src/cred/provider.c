#include "cred/cred.h"

#include <string.h>

#include "cred/rows.h"

static const struct cred_provider *const rows[] = {
	&cred_anthropic_key,
	&cred_anthropic_oauth,
};

size_t cred_provider_count(void)
{
	return ARRAY_SIZE(rows);
}

const struct cred_provider *cred_provider_at(size_t i)
{
	return i < ARRAY_SIZE(rows) ? rows[i] : NULL;
}

const struct cred_provider *cred_provider_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i]->name, name))
			return rows[i];
	return NULL;
}
