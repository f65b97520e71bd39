#include "probe/probe.h"

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
	_exit(PROBE_BROKEN);
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
