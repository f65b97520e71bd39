#include "probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

int out(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("GOT OUT: ", stdout);
	(void)vprintf(fmt, ap);
	(void)putchar('\n');
	(void)fflush(stdout);
	va_end(ap);
	errno = saved;
	return 1;
}

void broken(const char *what)
{
	(void)fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	_exit(2);
}

uint64_t number(const char *text)
{
	uint64_t v;

	if (parse_uint(text, 0, UINT64_MAX, &v) < 0) {
		errno = EINVAL;
		broken(text);
	}
	return v;
}

int main(int argc, char **argv)
{
	const struct attack *all[] = {file_attacks, fd_attacks,	 process_attacks,
				      call_attacks, net_attacks, ipc_attacks};

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(all); i++)
		for (const struct attack *a = all[i]; a->name; a++)
			if (strcmp(a->name, argv[1]) == 0)
				return a->run(argc - 2, argv + 2) ? 1 : 0;
	(void)fprintf(stderr, "probe: no attack '%s'\n", argc > 1 ? argv[1] : "");
	return 2;
}
