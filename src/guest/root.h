#pragma once

#include "base/err.h"
#include "wire/root.h"

/* Builds the root, moves into it and lets go of everything else of the host's file system. */
int root_enter(const struct guest_root *root, struct err *err);
/* Becomes the sandbox's user, in a user namespace that has no power over what was made so far. */
int root_leave_power(const struct guest_root *root, struct err *err);
