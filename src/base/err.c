#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* A message is one line: a newline or control byte from a file name would forge a second one. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

static void printf_like(2, 0) err_vset(struct err *e, const char *fmt, va_list ap)
{
	e->exit_code = 0;
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	one_line(e->msg);
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
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	one_line(e->msg);
	n = strlen(e->msg);
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
	(void)vsnprintf(e->msg + n, sizeof(e->msg) - n, fmt, ap);
	va_end(ap);
	return r;
}

int err_exit_code(const struct err *e, int fallback)
{
	return e->exit_code ? e->exit_code : fallback;
}
