#pragma once

#include "base/json/json.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * The rules of `ralph net` on their way to a worker on another machine, as a list of "allow PATTERN" and
 * "deny PATTERN": groups are expanded by this machine's clients. Rules about services of this machine
 * stay: there the name is another machine's.
 */

/* Reads the files again for this spec, and lists what came from them. *ret_until: when the first of them
 * ends, in seconds since 1970; 0: none does. */
int net_kept_list(struct sandbox_spec *s, const struct places *p, char *const *environ,
		  json_t **ret, uint64_t *ret_until, struct err *err);
/* On the node: these become the user's own, in place of those before. */
int net_kept_replace(const struct places *p, const json_t *rules, struct err *err);
