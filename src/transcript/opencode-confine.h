#pragma once

#include "base/err.h"

/*
 * What the program that reads a database out of a sandbox gives up before it opens it: SQLite is
 * much code to hand a hostile file to. Afterwards it has the current directory (where the kernel
 * has Landlock; else every file, but still no program, no network and no other process) and a
 * bound on processor time, memory and what it writes.
 */
#define OPENCODE_CPU_S 600
#define OPENCODE_MEMORY ((uint64_t)1 * GiB)
#define OPENCODE_FILE_MAX ((uint64_t)16 * GiB)

int opencode_confine(struct err *err);
