#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * Each process of edge and gateway gives up its rights in named stages, before it reads its first byte
 * from the sandbox or the network: these two, and then its system calls (confine/syscalls.h). A
 * stage that fails is an error, except Landlock on a kernel that does not know it.
 */

/* Capabilities, new privileges, dumps. 0 or -errno. */
int isolate_rights(void);
/* All files but these, for reading; NULL for none of a kind. more: LANDLOCK_NO_…. 1: in force; 0: the
 * kernel has no Landlock; -errno. */
int isolate_files(const char *const *paths, const char *file, const char *dir, unsigned more);
