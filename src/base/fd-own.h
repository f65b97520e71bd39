#pragma once

#include <stddef.h>

/* Private declarations of fd.c and fd-program.c; no other file includes this header. */

/* Makes a memory file unchangeable; its offset is 0 then. */
int fd_seal(int fd);
/* Fills the new memory file, or -1 with errno, and seals it. */
int fd_fill(int memory, const void *p, size_t n);
