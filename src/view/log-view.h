#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "events/events-follow.h"

#include <stdbool.h>

/*
 * Gives each line of the event log in the record `dir` to fn, oldest first; with follow also what
 * comes later, over every start of the sandbox, until it is removed or a signal comes. 0, 128 + n
 * for a signal, or -errno.
 */
int log_view(const char *dir, bool follow, events_line_fn *fn, void *arg, struct err *err);

/* Members of a record: "" and 0 where there is none. */
const char *log_text(const json_t *j, const char *key);
long long log_number(const json_t *j, const char *key);
/* When it happened, in local time: "2026-01-31 12:00:00"; "-" where it says nothing. */
#define LOG_TIME_SIZE 32
void log_time(const json_t *record, char ret[LOG_TIME_SIZE]);
/* Of a record's "time", in milliseconds since 1970; 0: it is none. */
int64_t log_time_ms(const char *text);
