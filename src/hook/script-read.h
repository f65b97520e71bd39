#pragma once

#include "hook/shell/arena.h"

/*
 * Reads an existing script for struct judge: a regular file of at most SCRIPT_READ_MAX bytes
 * outside the system directories. NULL: there is nothing to judge; *ret_why is then set if that
 * should be reported.
 */
#define SCRIPT_READ_MAX (64 << 10)
const char *script_read(struct arena *a, const char *path, const char **ret_why);
