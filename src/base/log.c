#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text/signs.h"

#define LOG_LINE_MAX (4 * KiB)

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* The one piece of process-wide state here: what the command line asked for. */
static struct {
	enum log_level max;
	enum log_format format;
} conf = {.max = LOG_INFO, .format = LOG_TEXT};

void log_setup(enum log_level max, enum log_format format)
{
	conf.max = max;
	conf.format = format;
}

bool log_enabled(enum log_level level)
{
	return level <= conf.max;
}

int log_level_parse(const char *s, enum log_level *ret)
{
	for (int i = 0; i < LOG_LEVEL_N; i++) {
		if (streq(s, level_names[i])) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void format_json(struct buf *b, enum log_level level, const char *area, const char *msg)
{
	struct timespec ts;
	struct tm tm;
	char when[32];

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gmtime_r(&ts.tv_sec, &tm);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)buf_printf(b, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"area\":", when,
			 ts.tv_nsec / 1000000, level_names[level]);
	(void)buf_put_quoted(b, area);
	(void)buf_puts(b, ",\"msg\":");
	(void)buf_put_quoted(b, msg);
	(void)buf_puts(b, "}\n");
}

static void format_text(struct buf *b, enum log_level level, const char *area, const char *msg)
{
	/* An error reads "ralph: what: why", as every command's errors do. */
	if (level == LOG_ERROR)
		(void)buf_puts(b, "ralph: ");
	else
		(void)buf_printf(b, "ralph: %s: %s%s", level_names[level],
				 level == LOG_DEBUG ? area : "", level == LOG_DEBUG ? ": " : "");
	(void)buf_put_escaped(b, msg);
	(void)buf_putc(b, '\n');
}

void log_msg(enum log_level level, const char *area, const char *fmt, ...)
{
	cleanup_buf struct buf b, plain;
	cleanup_free char *msg = NULL;
	va_list ap;

	buf_init(&b, LOG_LINE_MAX * 8);
	buf_init(&plain, LOG_LINE_MAX * 8);
	if (!log_enabled(level))
		return;
	va_start(ap, fmt);
	msg = xvasprintf(fmt, ap);
	va_end(ap);
	if (strlen(msg) > LOG_LINE_MAX)
		msg[LOG_LINE_MAX] = '\0';
	if (conf.format == LOG_JSON)
		format_json(&b, level, area, msg);
	else
		format_text(&b, level, area, msg);
	if (conf.format == LOG_TEXT && signs_are_ascii())
		signs_put(&plain, b.data, b.len);
	/*
	 * A line is one write, so that lines of two processes do not mix; a lost line is no error.
	 */
	(void)!write(STDERR_FILENO, plain.len ? plain.data : b.data, plain.len ? plain.len : b.len);
}
