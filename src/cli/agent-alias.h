#pragma once

#include "base/strv.h"

/*
 * ralph under the name of a link: `dclaude …` is `ralph run claude …`, and so for every agent.
 * Fills the command line to go on with and returns true when this is the name of such a link.
 */
bool agent_alias_argv(int argc, char **argv, struct strv *ret);
