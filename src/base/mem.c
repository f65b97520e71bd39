#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

void *xmalloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		abort();
	return must(realloc(p, total ? total : 1));
}

char *xstrdup(const char *s)
{
	return must(strdup(s));
}

char *xstrdup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
	return must(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0)
		abort();
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}
