#include "transcript/find.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "transcript/transcript.h"

void tr_find(int home, const char *agent, struct strv *ret)
{
	const struct tr_reader *r = tr_reader_find(agent);

	if (r)
		path_glob_beneath(home, "", r->files, TR_FOUND_MAX, ret);
}

void tr_find_subagents(int home, const char *agent, const char *conversation, struct strv *ret)
{
	const struct tr_reader *r = tr_reader_find(agent);
	cleanup_free char *dir = NULL;
	size_t n = strlen(conversation);

	if (!r || !r->subagents || n < strlen(".jsonl"))
		return;
	dir = xstrndup(conversation, n - strlen(".jsonl"));
	path_glob_beneath(home, dir, "subagents/agent-*.jsonl", TR_FOUND_MAX, ret);
}
