#pragma once

#include "agent/agent.h"
#include "config/config.h"
#include "record/places.h"

/*
 * The agent of a loop whose user names none: that of the settings; else the only one that is
 * installed and logged in; else the default one. *ret_why: a phrase that says which of the last two
 * it is; NULL: the settings name it.
 */
const struct agent *agent_choose(const struct places *p, const struct config *c,
				 const char *project, const char **ret_why);
/* Is its program on PATH, or where its installer puts it? */
bool agent_is_installed(const struct places *p, const struct agent *a);
struct cli;
/* The same for a command, which runs with this agent and says which it is. `how`: its option for
 * another one. */
void agent_settle(struct cli *cli, const struct places *p, const struct config *c,
		  const char *project, const char *how);
/* Returns the only agent that is installed and logged in; NULL: there is none, or several. */
const struct agent *agent_only(const struct places *p, const struct config *c, const char *project);
