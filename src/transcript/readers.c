#include "transcript/readers.h"

#include <string.h>

#include "base/mem.h"

static const struct tr_reader readers[] = {
	{"claude", tr_claude_record, NULL},
	{"codex", tr_codex_record, NULL},
	{"gemini", tr_gemini_record, tr_gemini_prepare},
	{"copilot", tr_copilot_record, NULL},
	{"opencode", tr_opencode_record, NULL},
};

const struct tr_reader *tr_reader_find(const char *agent)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (streq(readers[i].agent, agent))
			return &readers[i];
	return NULL;
}
