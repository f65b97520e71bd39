#include "cred/cred.h"

#include <string.h>

#include "cred/probe/provider-rows.h"

#define PROVIDER(x, holder) &cred_##x,
static const struct cred_provider *const rows[] = {
#include "config/providers.def"
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

const struct cred_login_file *cred_login_file(const char *service)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i]->file && streq(rows[i]->service, service))
			return rows[i]->file;
	return NULL;
}
