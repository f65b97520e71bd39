#pragma once

#include "guest/guest.h"

/*
 * The life of one command, in a process of its own: starts the payload, passes signals on, and
 * when the payload has ended (or is told to end) ends everything that descends from it. Orphans
 * come to the minder because it is their subreaper, so no setsid or double fork gets away.
 *
 * Speaks frames with pid 1 over `sock`: WIRE_SPAWNED or WIRE_ERROR, then WIRE_ENDED with the code
 * when nothing of the tree is left; and takes WIRE_KILL. If it cannot end the tree, it exits with
 * the code instead, and the rest is pid 1's.
 */
_Noreturn void minder_run(const struct guest *g, struct wire_msg *spawn, int sock);
