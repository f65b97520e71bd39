#pragma once

#include "base/err.h"

#include <sys/types.h>

/*
 * What is at this path of the sandbox whose first process this is becomes read-only. For engines
 * whose guest has made the mounts: their user namespace is this user's. 0: the sandbox is not up.
 */
int make_readonly_again(pid_t init, const char *path, struct err *err);
