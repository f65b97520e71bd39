#include "cred/cred.h"

#include <string.h>

#include "cred/provider-rows.h"

/* Providers that the user switched on come before those whose login merely exists. */
/* clang-format off */
static const struct cred_provider *const rows[] = {
	&cred_bedrock,
	&cred_vertex,
	&cred_foundry,
	&cred_anthropic_key,
	&cred_anthropic_oauth,
	&cred_openai_chatgpt,
	&cred_openai_key,
	&cred_gemini_oauth,
	&cred_gemini_key,
	&cred_github,
	&cred_npm,
	&cred_bearer,
};
/* clang-format on */

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
