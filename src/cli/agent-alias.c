#include "cli/agent-alias.h"

#include <string.h>

#include "agent/agent.h"
#include "base/path.h"

bool agent_alias_argv(int argc, char **argv, struct strv *ret)
{
	const char *name = argc > 0 ? path_base(argv[0]) : "";
	const struct agent *a = name[0] == 'd' ? agent_find(name + 1) : NULL;

	if (!a || !a->program)
		return false;
	strv_push(ret, argv[0]);
	strv_push(ret, "run");
	strv_push(ret, a->name);
	for (int i = 1; i < argc; i++)
		strv_push(ret, argv[i]);
	return true;
}
