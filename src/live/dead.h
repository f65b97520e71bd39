#pragma once

#include "base/err.h"
#include "record/places.h"
#include "record/store.h"

/*
 * Sandboxes whose supervisor was killed. Everything inside died with it; the engine's leftovers, the
 * findings in the workspace and the last conversations are settled here, by the next command.
 */

/* Is NAME one of them? Live sandboxes, and those that are being started or removed, are not. */
int dead_find(const struct places *p, const char *name, bool *ret_found, struct err *err);
/* The same, and clears it away. timeout_ms: for another command to finish, and for processes that
 * were killed to be gone. */
int dead_clean(const struct places *p, const char *name, int timeout_ms, bool *ret_found,
	       struct err *err);
/* For a caller that holds both locks of e. */
void dead_clear(const struct places *p, const struct store_entry *e);
