#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "events/events-follow.h"

#include <stdbool.h>

/*
 * Passes each line of the event log in the record `dir` to fn, oldest first. With follow, later
 * lines too, across restarts of the sandbox, until it is removed or a signal arrives. Returns 0,
 * 128 + n for a signal, or -errno.
 */
int log_view(const char *dir, bool follow, events_line_fn *fn, void *arg, struct err *err);

/* Return a member of a record; "" or 0 when it is missing. */
const char *log_text(const json_t *j, const char *key);
long long log_number(const json_t *j, const char *key);
/* Formats the time of a record as local time: "2026-01-31 12:00:00"; "-" without a time. */
#define LOG_TIME_SIZE 32
void log_time(const json_t *record, char ret[LOG_TIME_SIZE]);
/* Parses the "time" of a record to milliseconds since 1970; 0: invalid. */
int64_t log_time_ms(const char *text);
