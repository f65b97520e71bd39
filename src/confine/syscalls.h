#pragma once

/*
 * ROOM: confine
 *
 * The system calls that a program of ralph's keeps once it reads bytes that others wrote. Which
 * files it keeps is the program's own to say (base/landlock.h). No program is started here.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Filters are made while building (seccomp-gen.c has the table), because libseccomp takes
 * milliseconds to make them; filters.h has them as filter_NAME[]. A build with the address
 * sanitizer, whose own calls are in no table, loads none.
 */
#define confine_calls(name)                                                                        \
	confine_load(filter_##name, sizeof(filter_##name) / sizeof(filter_##name[0]))
/* For a process that has no_new_privs. 0 or -errno. */
int confine_load(const uint64_t *insns, size_t n);
