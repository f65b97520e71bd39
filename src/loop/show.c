#include "loop/show.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void close_line(struct show *s)
{
	if (s->open)
		(void)fputs("\r\033[K", stderr);
	s->open = false;
}

static void put_time(const struct show *s)
{
	char text[16];
	struct tm tm;
	time_t now = time(NULL);

	if (!localtime_r(&now, &tm) || strftime(text, sizeof(text), "%H:%M:%S", &tm) == 0)
		return;
	term_styled(stderr, s->color, STYLE_DIM, text);
	(void)fputs("  ", stderr);
}

void show_line(struct show *s, enum term_style style, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	close_line(s);
	put_time(s);
	term_styled(stderr, s->color, style, text);
	(void)fputc('\n', stderr);
	(void)fflush(stderr);
}

const char *show_when(uint64_t at, char to[SHOW_WHEN_SIZE])
{
	time_t t = (time_t)at;
	struct tm tm;

	if (!localtime_r(&t, &tm) || strftime(to, SHOW_WHEN_SIZE, "%F %T", &tm) == 0)
		to[0] = '\0';
	return to;
}

void show_over(struct show *s, const char *fmt, ...)
{
	cleanup_free char *text = NULL, *safe = NULL;
	va_list ap;

	if (!s->live)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	safe = term_escape(text);
	close_line(s);
	put_time(s);
	(void)fputs(safe, stderr);
	(void)fflush(stderr);
	s->open = true;
}

void show_quote(struct show *s, const char *text, size_t lines_max)
{
	const char *p = text;
	size_t n = 0, skip;

	for (const char *q = text; *q; q++)
		n += *q == '\n' && q[1];
	n += *text != '\0';
	skip = n > lines_max ? n - lines_max : 0;
	close_line(s);
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(p, "\n");
		cleanup_free char *line = xstrndup(p, len), *safe = term_escape(line);

		if (i >= skip) {
			term_styled(stderr, s->color, STYLE_DIM, "          | ");
			(void)fprintf(stderr, "%s\n", safe);
		}
		p += len + (p[len] == '\n');
	}
	(void)fflush(stderr);
}
