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

/* project: the directory whose .ralph/config.yaml counts; NULL: the current one. */
int settings_load(struct cli *cli, const char *project, struct settings *ret);
void settings_done(struct settings *s);

#define cleanup_settings cleanup_(settings_done)
