#pragma once

#include "base/strv.h"

#define HOME_PROGRAMS_MAX 48 /* of one directory */

/* The programs of this directory of the host, as paths; more than HOME_PROGRAMS_MAX are left out. One
 * whose name looks like a credential is none. */
void tools_programs_in(const char *dir, struct strv *ret);
