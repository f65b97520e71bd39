#pragma once

#include <stdint.h>

/* Resources that are available now, and how much of each one slot of --parallel needs. */
struct room {
	uint64_t memory, disk, files;
	uint64_t memory_each, disk_each, files_each; /* at least 1 */
};

/* Returns how many slots fit, at least 1; *ret_what: the resource that is short first. Pure. */
uint64_t room_slots(const struct room *room, const char **ret_what);
/* Returns the value of a line of /proc/meminfo, such as "MemAvailable:", in bytes; 0: none. Pure. */
uint64_t room_meminfo(const char *text, const char *key);
