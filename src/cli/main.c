#include "cli/commands.h"
#include "cli/program.h"

int main(int argc, char **argv)
{
	return program_main(commands, argc, argv);
}
