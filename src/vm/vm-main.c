#include "vm/vm.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (getpid() == 1 && strcmp(argv[0], "/init") == 0)
		return vm_init();
	if (argc >= 6 && strcmp(argv[1], "line") == 0)
		return vm_line(argc - 2, argv + 2);
	return EXIT_USAGE;
}
