#pragma once

#include "cli/settings.h"

/*
 * The operands of `run` and `audit`: AGENT [ARG…], or [PATH] [-- CMD [ARG…]]. Everything behind the
 * agent is the agent's own, as with `docker run`; it may be the command's word (`ralph claude`). An
 * existing directory right behind the agent is the workspace where nothing else or "--" follows.
 * dir: the value of -C, or NULL. *ret_rest: how many operands stand before CMD or the agent's own.
 */
int run_operands(struct cli *cli, const char *dir, int argc, char **argv,
		 struct settings_target *ret, int *ret_rest);

/* See struct command: an operand that is no directory is an agent, or a command by mistake. */
bool run_operand_ends(const char *operand);

/* Where the user names nothing to run: asks which of the agents that are installed here it shall
 * be. *ret: NULL where nobody can be asked, or no agent is found. */
int run_offer_agents(struct cli *cli, const struct agent **ret);
