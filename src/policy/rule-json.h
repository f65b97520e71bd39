#pragma once

#include "base/json/json.h"
#include "policy/rule.h"

/* {"tier": …, "rules": [{"verdict": …, "pattern": …, …}, …]}, as the records of sandboxes hold it.
 * Fields that are not set are left out. */
json_t *net_policy_to_json(const struct net_policy *p);
/* Strict: an error names the key. Rules are added to those of `p`, which the caller frees. */
int net_policy_from_json(const json_t *j, struct net_policy *p, struct err *err);
