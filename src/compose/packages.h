#pragma once

#include "base/err.h"
#include "config/config.h"
#include "compose/tools.h"

/*
 * The programs that the settings expect (the key `packages`) must be found on the PATH that tools
 * says there will be inside. `home` is the sandbox's home by its path inside, `own` the same on the
 * host. The error names all that are missing and who expects them; exit code 2.
 */
int packages_check(const struct config *c, const struct tools *tools, const char *home,
		   const char *own, struct err *err);
