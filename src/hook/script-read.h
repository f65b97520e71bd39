#pragma once

#include "hook/shell/arena.h"

/*
 * The text of a script that is there already, for struct judge: a regular file of at most
 * SCRIPT_READ_MAX bytes that is none of the system's. NULL: there is none to be judged; *ret_why is
 * then set where that should be pointed out.
 */
#define SCRIPT_READ_MAX (64 << 10)
const char *script_read(struct arena *a, const char *path, const char **ret_why);
