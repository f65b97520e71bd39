#pragma once

#include "agent/agent.h"
#include "cli/frame/command.h"
#include "cli/terminal/filter.h"
#include "config/config.h"
#include "compose/build.h"
#include "live/live.h"
#include "policy/rule.h"
#include "record/places.h"

/* The state that most commands load first: ralph's directories and the user's settings. */
struct settings {
	struct places places;
	struct config *config;
	const struct agent *agent; /* settings_build(): whose program is the command; NULL: none */
};

/* The paths of all settings files, as config_load() takes them. Finding them reads no file. */
struct settings_sources {
	struct places places;
	char *user, *profiles, *shipped, *project;
	struct config_sources src;
};
int settings_sources_find(struct cli *cli, const char *project, struct settings_sources *ret);
void settings_sources_done(struct settings_sources *s);

#define cleanup_sources cleanup_(settings_sources_done)

/* project: the directory whose .ralph/config.yaml counts; NULL: the current one. */
int settings_load(struct cli *cli, const char *project, struct settings *ret);
void settings_done(struct settings *s);
/* Tells the user what config_load() noticed; settings_load() does. */
void settings_notices(const struct config *c);

/* The sandbox that a command asks for; settings_build() makes its spec from this. */
struct settings_target {
	const char *path;	   /* the workspace; NULL: the current directory */
	const char *name;	   /* NULL: made from the branch */
	const char *argv0;	   /* the command; NULL: none yet */
	const struct agent *agent; /* named by the user; NULL: as the settings say */
	bool clone;		   /* the agent works in a clone of its own */
	enum spec_home home_of;	   /* whose home it has */
	bool every_agent;	   /* logins of all agents found, unless the settings name one */
	bool stays;		   /* commands that are not known yet follow */
	bool starts;		   /* the command starts a sandbox: missing parts are made */
	bool alone; /* no command was given: run the settings' agent, if it has a program */
	/* See struct build_input; may be NULL. */
	void (*begun)(void *arg, const struct places *p, const struct sandbox_spec *so_far);
	void *arg;
};

/*
 * From operands to a target: [AGENT] [PATH] [-- COMMAND | ARGUMENTS OF THE AGENT]. The agent may be
 * the command's own word (`ralph claude`). A directory of an agent's name is written ./claude.
 * *ret_rest: how many operands stand before what is behind "--".
 */
int settings_operands(struct cli *cli, int argc, char **argv, struct settings_target *ret,
		      int *ret_rest);
int settings_build(struct cli *cli, const struct settings_target *t, struct settings *ret,
		   struct build *ret_build);

/* The options that set what a sandbox has, for every command that takes them. */
/* clang-format off */
#define SETTINGS_OPTS \
	{"agent", 0, OPT_CHOICE, 0, "NAME", "whose sandbox it is: its credentials, state and hosts", \
	 .key = "agent", .choices = agent_words}, \
	{"image", 0, OPT_STR, 0, "IMAGE", "what a container is made of", .key = "image.name"}, \
	{"env", 'e', OPT_STRV, 0, "NAME=VALUE", "set a variable inside", .key = "env.set"}, \
	{"pass", 0, OPT_STRV, 0, "NAME", "take a variable from the host", .key = "env.pass"}, \
	{"mask", 0, OPT_STRV, 0, "PATTERN", "files of such names cannot be read inside; !PATTERN takes back", \
	 .key = "workspace.mask"}, \
	{"quarantine", 0, OPT_STR, 0, "WHAT", "which new files that the host would run go to quarantine: ask, all, git or none", \
	 .key = "workspace.quarantine"}, \
	{"allow", 0, OPT_STRV, 0, "HOST", "let the sandbox reach this host", .key = "network.allow", \
	 .complete = COMPLETE_GROUP}, \
	{"deny", 0, OPT_STRV, 0, "HOST", "never let it reach this host", .key = "network.deny", \
	 .complete = COMPLETE_GROUP}, \
	{"net", 0, OPT_STR, 0, "TIER", "how much network there is", .key = "network.tier", \
	 .choices = policy_tier_names}, \
	{"provider-tools", 0, OPT_STR, 0, "WHICH", "tools that providers may run for it: agent, all, none or names", \
	 .key = "network.provider_tools"}, \
	{"memory", 0, OPT_SIZE, 0, "SIZE", "memory limit", .key = "limits.memory"}, \
	{"pids", 0, OPT_UINT, 0, "N", "limit of processes and threads", .key = "limits.pids"}, \
	{"cpu", 0, OPT_UINT, 0, "PERCENT", "processor limit, in percent of one core", .key = "limits.cpu"}, \
	{"timeout", 0, OPT_DURATION, 0, "TIME", "end the command after this time", .key = "limits.timeout"}, \
	{"budget", 0, OPT_STR, 0, "USD", "what the sandbox may spend at providers", .key = "budget.usd"}, \
	{"budget-tokens", 0, OPT_UINT, 0, "N", "tokens it may use there", .key = "budget.tokens"}
/* clang-format on */

/* What the user lets the commands of a sandbox do to the terminal: attach's allowed. */
enum filter_wish settings_terminal(const struct config *c);

/*
 * LIVE_WIDER, or 0 where an option of this command narrows the network: a sandbox that has more is
 * then another one, which the command does not join.
 */
enum live_flags settings_join(const struct config *c);

#define cleanup_settings cleanup_(settings_done)
