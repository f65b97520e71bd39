#pragma once

#include "policy/addr.h"

/* How wide an allow rule may be. NULL: fine; else the second half of a sentence that says what to
 * do instead. */

/* For '*.name': is `name`, canonical, something one party holds? */
const char *suffix_too_broad(const char *name);
const char *suffix_too_wide(const struct cidr *c);
