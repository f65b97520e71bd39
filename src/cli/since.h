#pragma once

#include "base/err.h"

#include <stdint.h>

/* The value of --since: a time ago ("10m") or a date, in milliseconds since 1970. */
int since_parse(const char *text, int64_t *ret_ms, struct err *err);
