#include "cred/holders.h"

#include <string.h>

static const struct {
	const char *provider;
	const struct cred_holder *holder;
} holders[] = {
	{"anthropic-key", &cred_anthropic_key_holder},
	{"anthropic-oauth", &cred_anthropic_oauth_holder},
};

const struct cred_holder *cred_holder_find(const char *provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (streq(holders[i].provider, provider))
			return holders[i].holder;
	return NULL;
}
