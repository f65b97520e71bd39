#pragma once

#include "base/err.h"
#include "spec/spec.h"

#include <sys/types.h>

/*
 * Makes what is at this path read-only, hides it, or pins it, in the sandbox whose first process
 * this is. For engines whose guest has made the mounts: their user namespace is this user's. 0: the sandbox is not up.
 */
int make_readonly_again(pid_t init, const char *path, enum spec_mount_kind kind, struct err *err);
