#pragma once

#include "base/err.h"
#include "wire/guest-proto.h"
#include "wire/root-proto.h"

#include <stdbool.h>

/* In new namespaces: puts the host's root aside, where the next one finds it. */
int root_prepare(struct err *err);
/* Builds the root, moves into it and lets go of everything else of the host's file system. Before
 * that it enters the cgroups whose files these are. in_container: we are in a container. */
int root_enter(const struct guest_root *root, bool in_container, const int *cgroups,
	       size_t n_cgroups, struct err *err);
/* Becomes the sandbox's user, in a user namespace that has no power over what was made so far. */
int root_leave_power(const struct guest_root *root, bool in_container, struct err *err);

/* -ENOSYS, with the version that is needed. */
int root_too_old(struct err *err);

/*
 * For a root that another program has built: separates its mounts from the host's and names it.
 */
int root_take(const struct guest_setup *s, struct err *err);
