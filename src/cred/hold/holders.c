#include "cred/hold/holders.h"

#include <string.h>

#include "cred/provider-rows.h"

#define PROVIDER(x, holder) {&cred_##x, &cred_##holder##_holder},
static const struct {
	const struct cred_provider *provider;
	const struct cred_holder *holder;
} holders[] = {
#include "config/providers.def"
};

const struct cred_holder *cred_holder_find(const char *provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (streq(holders[i].provider->name, provider))
			return holders[i].holder;
	return NULL;
}
