#pragma once

#include "agent/agent.h"

/*
 * Returns the account of the host's login to this provider: an e-mail address, from the agent's own
 * files. NULL when they do not name it; the caller frees it.
 */
char *agent_identity(const struct agent *a, const char *provider, const char *home);
