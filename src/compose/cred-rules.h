#pragma once

#include "policy/host.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"

/* "https://HOST[:PORT][/PATH]" taken apart; *ret_path points into origin ("" where there is none).
 */
int origin_split(const char *origin, struct host *ret, uint16_t *ret_port, const char **ret_path,
		 struct err *err);

/*
 * May the gateway have the header fields for this request? The gateway reads hostile bytes, so
 * whatever it asks is judged here once more: the credential must be one of the spec's that is kept
 * outside; the request must go to that credential's own origin, and be one of those that may be
 * asked there, or to a host whose rule names the credential.
 */
int cred_may_ask(const struct sandbox_spec *spec, const struct gw_header_ask *ask, struct err *err);
