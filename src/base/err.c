#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/text/escape.h"

/*
 * A message is one line, and shows what file names and other programs put into it as escapes: a
 * newline would forge a second message, and a terminal would carry out the rest.
 */
static size_t printf_like(3, 0) put(struct err *e, size_t at, const char *fmt, va_list ap)
{
	char raw[sizeof(e->msg)];

	(void)vsnprintf(raw, sizeof(raw), fmt, ap);
	escape_text(raw, e->msg + at, sizeof(e->msg) - at);
	return strlen(e->msg);
}

static void printf_like(2, 0) err_vset(struct err *e, const char *fmt, va_list ap)
{
	e->exit_code = 0;
	(void)put(e, 0, fmt, ap);
}

int(err_set)(struct err *e, int eno, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, fmt, ap);
	va_end(ap);
	return -eno;
}

int(err_sys)(struct err *e, int eno, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	err_vset(e, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	(void)snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(eno));
	return -eno;
}

int(err_usage)(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, fmt, ap);
	va_end(ap);
	e->exit_code = EXIT_USAGE;
	return -EINVAL;
}

int(err_wrap)(struct err *e, int r, const char *fmt, ...)
{
	char inner[sizeof(e->msg)];
	va_list ap;
	size_t n;

	memcpy(inner, e->msg, sizeof(inner));
	va_start(ap, fmt);
	n = put(e, 0, fmt, ap);
	va_end(ap);
	(void)snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", inner);
	return r;
}

int err_hint(struct err *e, int r, const char *fmt, ...)
{
	size_t n = strlen(e->msg);
	va_list ap;

	(void)snprintf(e->msg + n, sizeof(e->msg) - n, "; ");
	n = strlen(e->msg);
	va_start(ap, fmt);
	(void)put(e, n, fmt, ap);
	va_end(ap);
	return r;
}

int err_exit_code(const struct err *e, int fallback)
{
	return e->exit_code ? e->exit_code : fallback;
}
