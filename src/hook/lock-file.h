#pragma once

#include <stdbool.h>

/*
 * True when a package, or a program of that name, is installed for the project at `dir`, or its lock
 * file has it: of npm, yarn, pnpm or bun, there or in a directory above. A lock file that cannot be
 * read, or is longer than LOCK_FILE_MAX, has nothing.
 */
#define LOCK_FILE_MAX (32 << 20)
bool lock_file_has(const char *dir, const char *name);
