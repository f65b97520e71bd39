#pragma once

#include "base/err.h"

#include <stdint.h>

/* Gives up all capabilities but these (bits by their numbers), for what is executed too. */
int confine_keep(uint64_t capabilities, struct err *err);
/*
 * Gives up, for this process and all that descend from it, every capability (bounding and ambient
 * sets too), the ways to get one back, and the system calls of guest-seccomp-gen.c. Reads back what
 * the kernel then holds: 0 only when it is really so.
 */
int confine(struct err *err);
