#pragma once

#include "cli/frame/command.h"
#include "cli/settings.h"
#include "check/preflight.h"

#include <stdio.h>

/* The checks before a start, for the commands that make one. */
/* place: a worker of the placement that the settings name is tried too. */
void preflight_of(const struct settings *s, const struct sandbox_spec *spec, bool place,
		  struct preflight *ret);
/* A table, and below it what to do about what failed. */
void preflight_print(struct cli *cli, const struct preflight *p, FILE *out, bool failed_only);
