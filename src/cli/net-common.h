#pragma once

#include "cli/frame/command.h"
#include "cli/settings.h"
#include "spec/spec.h"

/* The commands of `ralph net`, and what they share. */
extern const struct command cmd_net_log;
extern const struct command cmd_net_check;
extern const struct command cmd_net_allow;
extern const struct command cmd_net_deny;
extern const struct command cmd_net_rm;

/*
 * The sandbox whose record is meant: NAME, or that of the current workspace. Where a workspace has
 * several, the one of the current branch; where that is none of them, an error that lists them.
 */
int net_record(struct cli *cli, const struct places *p, const char *name, char **ret);

/* Every sandbox of the current workspace. */
int net_project(struct cli *cli, const struct places *p, struct strv *ret);

/*
 * The rules that hold: those of NAME; without a name, of the current workspace's sandbox while it
 * runs, else those that the next `ralph run` here would start with. *ret_state: "running",
 * "stopped" or "new".
 */
int net_effective(struct cli *cli, const char *name, struct sandbox_spec **ret,
		  const char **ret_state);

/*
 * Describes what the rule checks of a request: "GET,POST /v1/ git: fetch credential: api"; "-":
 * nothing. The caller frees the text.
 */
char *net_inspection(const struct net_rule *r);
