#include "base/text/signs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define CHUNK 4096

struct stream {
	int fd;
	char held[SIGNS_LONGEST]; /* the start of a sign whose rest is to come */
	size_t n_held;
};

static ssize_t write_plain(void *stream, const char *text, size_t n)
{
	struct stream *s = stream;
	cleanup_buf struct buf in, out;
	size_t left;
	int r;

	n = n < CHUNK ? n : CHUNK;
	buf_init(&in, CHUNK + SIGNS_LONGEST);
	buf_init(&out, (CHUNK + SIGNS_LONGEST) * 2);
	(void)buf_append(&in, s->held, s->n_held);
	(void)buf_append(&in, text, n);
	left = signs_unfinished(buf_str(&in), in.len);
	signs_put(&out, buf_str(&in), in.len - left);
	memcpy(s->held, buf_str(&in) + in.len - left, left);
	s->n_held = left;
	r = fd_write_all(s->fd, buf_str(&out), out.len);
	if (r == 0)
		return (ssize_t)n;
	errno = -r;
	return 0; /* as fopencookie(3) wants an error */
}

static int close_plain(void *stream)
{
	struct stream *s = stream;
	int r = fd_write_all(s->fd, s->held, s->n_held);

	if (close(s->fd) < 0 && r == 0)
		r = -errno;
	free(s);
	if (r < 0)
		errno = -r;
	return r < 0 ? EOF : 0;
}

static FILE *plain(int fd, int mode)
{
	struct stream *s = xcalloc(1, sizeof(*s));
	FILE *f;

	s->fd = fd;
	f = fopencookie(s, "w",
			(cookie_io_functions_t){.write = write_plain, .close = close_plain});
	if (f)
		(void)setvbuf(f, NULL, mode, 0);
	else
		free(s);
	return f;
}

void signs_setup(void)
{
	FILE *err = signs_are_ascii() ? plain(STDERR_FILENO, _IONBF) : NULL;
	FILE *out = err && isatty(STDOUT_FILENO) ? plain(STDOUT_FILENO, _IOLBF) : NULL;

	if (err)
		stderr = err;
	if (out)
		stdout = out;
}
