#pragma once

#include <stdint.h>

/*
 * The kernel's mount interface by descriptors: a tree is made where nobody sees it, gets its
 * attributes, and is then attached. One call each, and no path is looked up twice. All give a
 * descriptor or 0, else -errno. Linux 5.12.
 */

/* Returns a detached copy of the mount tree at `at`, with everything mounted below. */
int mount_clone(int at);
/* Makes a new file system; options are pairs of key and value, NULL at the end. */
int mount_new(const char *type, const char *const *options, uint64_t attributes);
/* Adds MOUNT_ATTR_… to a tree and all mounts in it, or to one mount alone. */
int mount_restrict(int tree, uint64_t attributes);
int mount_restrict_one(int at, uint64_t attributes);
/* The mount of `at` and all below it give their changes on to copies of them. */
int mount_share(int at);
int mount_attach(int tree, int at);
