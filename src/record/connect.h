#pragma once

#include "base/err.h"
#include "record/places.h"

/* The short way to a live sandbox, with nothing to load: the whole of what `ralph exec` needs. */

/* Connects to NAME; *ret is -1 when it is not live. An unknown name is an error, and so is a live
 * sandbox of another version. */
int live_connect(const struct places *p, const char *name, int *ret, struct err *err);
/* The same for a sandbox of any version: for WIRE_INSPECT alone. */
int live_connect_any(const struct places *p, const char *name, int *ret, struct err *err);
