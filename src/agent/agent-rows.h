#pragma once

#include "agent/agent.h"

/* The table, for agent.c. */
extern const struct agent *const agent_rows[];
extern const size_t n_agent_rows;
