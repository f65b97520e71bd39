#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Makes what is at this path read-only, or hides it, in the sandbox whose first process this is. For engines
 * whose guest has made the mounts: their user namespace is this user's. 0: the sandbox is not up.
 */
int make_readonly_again(pid_t init, const char *path, bool hide, struct err *err);
/* Mounts `from` of the sandbox over this path, as it is there. */
int mount_again(pid_t init, const char *from, const char *path, struct err *err);
