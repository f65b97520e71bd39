#pragma once

#include "base/strv.h"

#include <stdbool.h>

/* git's smart HTTP, as request.h describes it. Targets are canonical: path_n bytes of path, then
 * the query up to n. */

bool git_verb_is_valid(const char *verb);
/* Is this one of the requests of fetching or pushing, allowed or not? */
bool git_is_request(const char *target, size_t path_n, size_t n);
/* How narrowly the verbs allow this request: 0 not at all, 1 in every repository, 2 in this one. */
unsigned git_fit(const struct strv *verbs, const char *method, const char *target, size_t path_n,
		 size_t n);
