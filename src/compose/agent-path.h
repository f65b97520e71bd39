#pragma once

#include "agent/agent.h"

/*
 * The PATH on which an agent's program is looked for: the host's, and where it is not on that, the
 * directory below the user's home where an installer has put it. The result is the caller's; NULL
 * when there is none.
 */
char *agent_search_path(const struct agent *a, const char *path, const char *home);
