#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * Names for the conversations of a sandbox, for a loop that knows which task its agent works on.
 * Each line of `export-names` in the record is a time, in nanoseconds since 1970, and a name that
 * holds from then on. The export uses the name that held when a conversation was last changed.
 */
#define EXPORT_NAMES_MAX 64 /* lines; older ones are dropped */
#define EXPORT_NAMES_BYTES (16 * KiB)

/* Adds a name that holds from now on: DIR/NAME, of [A-Za-z0-9-]. */
int export_names_add(const char *record, const char *name);
/* Returns all lines; the caller frees them. "": there are none. */
char *export_names_read(const char *record);
