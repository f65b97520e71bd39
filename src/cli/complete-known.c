#include "cli/complete-known.h"

#include "netrules/groups.h"

#define GROUPS_MAX 64 /* ralph's own table; more would be cut */

static const char *const engines[] = {
	"auto",
#define ENGINE(symbol, name) name,
#include "config/engines.def"
#undef ENGINE
	NULL,
};

static const char *const *groups(void)
{
	static const char *names[GROUPS_MAX + 1];
	size_t n = 0;
	const struct group *list = groups_list(&n);

	for (size_t i = 0; i < n && i < GROUPS_MAX; i++)
		names[i] = list[i].name;
	return names;
}

const char *const *complete_known(enum opt_complete kind)
{
	if (kind == COMPLETE_ENGINE)
		return engines;
	return kind == COMPLETE_GROUP ? groups() : NULL;
}
