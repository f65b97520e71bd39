#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

#define AGENT(x) &tr_##x,
static const struct tr_reader *const readers[] = {
#include "agent/agents.def"
};
#undef AGENT

const struct tr_reader *tr_reader_find(const char *agent)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (streq(readers[i]->agent, agent))
			return readers[i];
	return NULL;
}
