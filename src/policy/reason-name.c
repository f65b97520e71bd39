#include "policy/policy.h"

#include <assert.h>

const char *policy_reason_name(enum policy_reason r)
{
	static const char *const names[] = {
		[POLICY_BY_RULE] = "rule",
		[POLICY_BY_TIER] = "tier",
		[POLICY_DENY_NONE] = "tier-none",
		[POLICY_DENY_RULE] = "deny-rule",
		[POLICY_DENY_NO_RULE] = "no-rule",
		[POLICY_DENY_PORT] = "port",
		[POLICY_DENY_CLASS] = "address-class",
		[POLICY_DENY_LOOPBACK] = "loopback",
		[POLICY_DENY_METADATA] = "metadata",
		[POLICY_DENY_NAMELESS] = "nameless",
		[POLICY_DENY_METHOD] = "method",
		[POLICY_DENY_PATH] = "path",
		[POLICY_DENY_AMBIGUOUS] = "ambiguous-path",
		[POLICY_DENY_GIT] = "git",
		[POLICY_DENY_CREDENTIALS] = "two-credentials",
	};

	static_assert(ARRAY_SIZE(names) == POLICY_REASON_N, "one name per reason");
	return r < POLICY_REASON_N ? names[r] : "unknown";
}
