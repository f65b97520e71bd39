#include "transcript/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define OUT_SIZE (64 * KiB)

void tr_out_init(struct tr_out *o, int fd, const struct known *known)
{
	*o = (struct tr_out){.fd = fd};
	buf_init(&o->b, OUT_SIZE);
	tr_filter_init(&o->filter, known);
}

static void out(struct tr_out *o, const char *p, size_t n)
{
	int r = o->error < 0 || n == 0 ? 0 : fd_write_all(o->fd, p, n);

	if (r < 0)
		o->error = r;
	else
		o->written += n;
}

static void flush(struct tr_out *o)
{
	out(o, o->b.data, o->b.len);
	o->b.len = 0;
}

void tr_put(struct tr_out *o, const char *p, size_t n)
{
	if (o->b.len + n > OUT_SIZE)
		flush(o);
	if (n > OUT_SIZE)
		out(o, p, n);
	else
		(void)buf_append(&o->b, p, n);
}

void tr_puts(struct tr_out *o, const char *s)
{
	tr_put(o, s, strlen(s));
}

void tr_printf(struct tr_out *o, const char *fmt, ...)
{
	char *s;
	va_list ap;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	tr_puts(o, s);
	free(s);
}

char *tr_clean(struct tr_out *o, const char *s)
{
	return tr_filter_string(&o->filter, s);
}

int tr_out_done(struct tr_out *o)
{
	flush(o);
	buf_done(&o->b);
	tr_filter_done(&o->filter);
	return o->error;
}
