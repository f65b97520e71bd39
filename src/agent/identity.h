#pragma once

#include "agent/agent.h"

/*
 * Who the host's login of this provider is, as the agent's own files say: an e-mail address. NULL
 * where they do not say; the caller frees it.
 */
char *agent_identity(const struct agent *a, const char *provider, const char *home);
