#include "cred/hold/holders.h"

#include <string.h>

#define PROVIDER(x, holder) {#x, &cred_##holder##_holder},
static const struct {
	const char *row; /* cred_ROW */
	const struct cred_holder *holder;
} holders[] = {
#include "config/providers.def"
};

/* The row "openai_key" has the name "openai-key". */
static bool is_name_of(const char *row, const char *name)
{
	for (; *row && (*row == '_' ? '-' : *row) == *name; row++)
		name++;
	return !*row && !*name;
}

const struct cred_holder *cred_holder_find(const char *provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (is_name_of(holders[i].row, provider))
			return holders[i].holder;
	return NULL;
}
