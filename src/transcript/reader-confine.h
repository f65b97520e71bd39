#pragma once

#include "base/err.h"

/*
 * The programs that read what an agent wrote give up everything else before they open it: a hostile
 * file that takes one of them over gets little. Afterwards it can read what lies in the
 * directories `read` and can also write in the directory `write` (each a descriptor; -1: none).
 * It has no other file (where the kernel has Landlock), no network, no program to run and no other
 * process, and a bound on processor time, memory and the size of a file.
 */
#define TR_CPU_S 600
#define TR_MEMORY ((uint64_t)1 * GiB)
#define TR_FILE_MAX ((uint64_t)16 * GiB)

int tr_confine(const int read[2], int write, struct err *err);
