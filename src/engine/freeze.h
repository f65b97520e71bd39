#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Stops every process of the pid namespace whose first process this is, but that one, or lets them
 * go on. For a namespace that is this user's. Without a cgroup there is no better way: a program
 * that waits for its children's stops, as an interactive shell does, sees it.
 */
int freeze_by_signals(pid_t init, bool on, struct err *err);
