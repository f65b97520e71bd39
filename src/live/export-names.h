#pragma once

#include "base/err.h"

/*
 * Names for the conversations of a sandbox, for a loop that knows which task its agent works on.
 * Each line of `export-names` in the record is a time, in nanoseconds since 1970, and a name that
 * holds from then on. The export uses the name that held when a conversation was last changed. Lines
 * are only ever added, so an export that began before has the names of what was written meanwhile.
 */

/* Adds a name that holds from now on: DIR/NAME, of [A-Za-z0-9-]. */
int export_names_add(const char *record, const char *name);
/* The file; the caller frees it. */
char *export_names_path(const char *record);
