#pragma once

#include "cred/hold/hold.h"
#include "policy/policy.h"
#include "policy/request-row.h"
#include "wire/gateway-proto.h"

/*
 * May the gateway have the header fields of this credential for this request? The gateway reads
 * hostile bytes, so whatever it asks is judged here once more: the credential must be one that is
 * kept outside; the request must go to its own origin, and be one of those that may be asked there,
 * or the rule that the policy finds for its host, port, method and path must name the credential.
 * c: NULL where there is none of that name; policy: NULL for one without rules. *ret_rule is that
 * rule, or NULL where the request is one of the credential's own; *ret_kind is what is known of its cost.
 */
int cred_judge(const struct cred *c, const struct policy *policy, const struct gw_header_ask *ask,
	       const struct policy_rule **ret_rule, enum request_kind *ret_kind, struct err *err);

/* "example.com GET,POST /api /v1": the rule as the log shows it, cut to size. */
void cred_rule_text(const struct policy_rule *rule, char *ret, size_t size);
