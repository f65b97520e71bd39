#pragma once

#include "config/config.h"

/*
 * The settings as the text of a user's file, for a worker elsewhere: values that hold here and mean the
 * same there. Left out is what names files, programs or people of this machine, and variables whose
 * values look like secrets, whose names go to `left`. NULL: too long. Pure; the caller frees it.
 */
#define PLACED_CONFIG_MAX (256 * KiB)
char *placed_config(const struct config *c, struct strv *left);
