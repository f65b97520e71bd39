#pragma once

#include "policy/policy.h"

/* Private declarations of the policy*.c and rule*.c files; no other file includes this header. */

/* Frees the value of one field of a rule, which is empty then. */
void net_rule_field_done(void *at, enum net_rule_kind kind);

/* Does rule a decide where b fits too? */
bool policy_outranks(const struct policy_rule *a, const struct policy_rule *b);
/* v holds an allowing verdict; `named` is the best rule for this address, or -1. */
void policy_judge_ip(const struct policy *p, const struct ip *ip, int named, struct verdict *v);
