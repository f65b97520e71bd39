#include "base/text/signs.h"
#include "cli/commands.h"
#include "cli/agent-alias.h"
#include "cli/frame/program.h"

int main(int argc, char **argv)
{
	cleanup_strv struct strv linked = {0};

	signs_setup();
	if (agent_alias_argv(argc, argv, &linked))
		return program_main(commands, (int)linked.n, linked.v);
	return program_main(commands, argc, argv);
}
