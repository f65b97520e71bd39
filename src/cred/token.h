#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Small readers and writers of what credentials are written in. Pure. */

/* "2026-11-15T20:00:00Z", also with a fraction and with an offset: milliseconds since 1970. */
int when_parse(const char *text, uint64_t *ret_ms);

/* When a signed token (JWT) expires, by its own claim; 0 where it does not say. It is not verified:
 * whoever it is sent to does that. */
uint64_t jwt_expires_ms(const char *token);

/* Can it stand in a field of a request: printable, no blank at either end, at most 16 KiB? */
#define TOKEN_MAX (16 * KiB)
bool token_is_sane(const char *token);
