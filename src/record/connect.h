#pragma once

#include "base/err.h"
#include "record/places.h"

/* A fast path to a live sandbox, without loading libraries: all that `ralph exec` needs. */

/* Connects to NAME; *ret is -1 when it is not live. An unknown name is an error, and so is a
 * live sandbox of another version. */
int live_connect(const struct places *p, const char *name, int *ret, struct err *err);
/* Connects to a sandbox of any version, for WIRE_INSPECT only. */
int live_connect_any(const struct places *p, const char *name, int *ret, struct err *err);
