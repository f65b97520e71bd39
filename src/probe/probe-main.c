#include <stdio.h>
#include <string.h>

#include "probe/probe.h"

const struct attack *attack_find(const char *name)
{
	static const struct attack *const all[] = {
		file_attacks, fd_attacks,   process_attacks, call_attacks,  net_attacks,
		ipc_attacks,  host_attacks, mount_attacks,   proxy_attacks, works,
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct attack *a = all[i]; a->name; a++)
			if (streq(a->name, name))
				return a;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct attack *a = argc > 1 ? attack_find(argv[1]) : NULL;

	if (argc == 2 && streq(argv[1], "suite"))
		return suite();
	if (a)
		return a->run(argc - 2, argv + 2) ? PROBE_OUT : PROBE_HELD;
	(void)fprintf(stderr, "probe: no attack '%s'\n", argc > 1 ? argv[1] : "");
	return PROBE_BROKEN;
}
