#pragma once

#include "base/err.h"

#include <stdint.h>

/* Gives up all capabilities but these (bits by their numbers), for what is executed too. */
int confine_keep(uint64_t capabilities, struct err *err);
/*
 * For a program that has a kernel of its own and makes its walls itself: no capability but these,
 * and the filters of confine(), less what such a program needs (mounts, roots, namespaces).
 */
int confine_program(uint64_t capabilities, struct err *err);
/*
 * In the inner half: the same as confine(), as far as the kernel inside has it. The wall is the
 * kernel itself, and what holds that; here it is the habit of the sandbox that is kept.
 */
int confine_within(struct err *err);
/*
 * Gives up, for this process and all that descend from it, every capability (bounding and ambient
 * sets too), the ways to get one back, and the system calls of guest-seccomp-gen.c. Reads back what
 * the kernel then holds: 0 only when it is really so.
 */
int confine(struct err *err);
