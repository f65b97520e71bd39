#pragma once

#include "check/preflight.h"

/* What a sandbox without a guest reaches. */
struct preflight_net {
	char *problem;	  /* why it cannot be told; NULL: it can. The caller frees it. */
	bool has_gateway; /* it needs one, for a credential */
	bool gateway;	  /* it answers */
	bool refused;	  /* a host without a rule is */
};

/* Asks inside, on a connection that has no command yet. */
void preflight_no_guest(const struct preflight_input *in, int conn, struct preflight_net *ret);
