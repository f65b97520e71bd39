#pragma once

#include "cli/command.h"
#include "config/config.h"
#include "sandbox/build.h"
#include "sandbox/places.h"

/* What most commands begin with: where things are, and the user's settings. */
struct settings {
	struct places places;
	struct config *config;
};

/* Where settings come from, named as config_load() wants them; nothing is read. */
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

/* And what those that start a sandbox go on with: its spec. */
struct settings_target {
	const char *path;  /* the workspace; NULL: the current directory */
	const char *name;  /* NULL: made from the branch */
	const char *argv0; /* the command; NULL: none yet */
};
int settings_build(struct cli *cli, const struct settings_target *t, struct settings *ret,
		   struct build *ret_build);

/* The options that set what a sandbox has, for every command that takes them. */
/* clang-format off */
#define SETTINGS_OPTS \
	{"env", 'e', OPT_STRV, 0, "NAME=VALUE", "set a variable inside", .key = "env.set"}, \
	{"pass", 0, OPT_STRV, 0, "NAME", "take a variable from the host", .key = "env.pass"}, \
	{"allow", 0, OPT_STRV, 0, "HOST", "let the sandbox reach this host", .key = "network.allow"}, \
	{"deny", 0, OPT_STRV, 0, "HOST", "never let it reach this host", .key = "network.deny"}, \
	{"net", 0, OPT_STR, 0, "TIER", "how much network there is: none, allowlist, inet or full", \
	 .key = "network.tier"}, \
	{"memory", 0, OPT_SIZE, 0, "SIZE", "memory limit", .key = "limits.memory"}, \
	{"pids", 0, OPT_UINT, 0, "N", "limit of processes and threads", .key = "limits.pids"}, \
	{"cpu", 0, OPT_UINT, 0, "PERCENT", "processor limit, in percent of one core", .key = "limits.cpu"}, \
	{"timeout", 0, OPT_DURATION, 0, "TIME", "end the command after this time", .key = "limits.timeout"}
/* clang-format on */

#define cleanup_settings cleanup_(settings_done)
