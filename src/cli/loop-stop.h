#pragma once

#include "base/err.h"

/* Stops the loop of a workspace (NULL: of the current directory) and waits until it has ended. */
int loops_stop(const char *path, struct err *err);
