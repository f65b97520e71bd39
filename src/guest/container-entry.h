#pragma once

#include "base/err.h"

/*
 * The guest as the entrypoint of a container: a process without any power, whose kernel lets it
 * make namespaces of its own. From then on it is where the launcher would have brought it.
 */

/* Connects to the supervisor; the line is descriptor `as` then, and the only one above 2. */
int container_meet(const char *path, int as);
/* New user, mount, ipc and uts namespaces, of which we are root. */
int container_enter(struct err *err);
