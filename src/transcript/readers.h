#pragma once

#include "transcript/transcript.h"

/* The readers of all agents; each in the file of its name, read-NAME.c. */
#define AGENT(x) extern const struct tr_reader tr_##x;
#include "agent/agents.def"
#undef AGENT
