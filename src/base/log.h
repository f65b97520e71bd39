#pragma once

#include "base/mem.h"

#include <stdbool.h>

/*
 * Log lines go to stderr, one per call: "ralph: level area: message". In JSON: one object with
 * time, level, area, msg. Below cli/, loop/ and live/ only log_debug is used: libraries return
 * their errors. What a terminal would act on is shown as base/text/escape.h says.
 */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL_N };
enum log_format { LOG_TEXT, LOG_JSON };

void log_setup(enum log_level max, enum log_format format);
bool log_enabled(enum log_level level);
/* "error" … "debug"; -EINVAL for another word. */
int log_level_parse(const char *s, enum log_level *ret);
void log_msg(enum log_level level, const char *area, const char *fmt, ...) printf_like(3, 4);

#define log_error(area, ...) log_msg(LOG_ERROR, area, __VA_ARGS__)
#define log_warn(area, ...) log_msg(LOG_WARN, area, __VA_ARGS__)
#define log_info(area, ...) log_msg(LOG_INFO, area, __VA_ARGS__)
#define log_debug(area, ...)                                                                       \
	do {                                                                                       \
		if (log_enabled(LOG_DEBUG))                                                        \
			log_msg(LOG_DEBUG, area, __VA_ARGS__);                                     \
	} while (0)
