#pragma once

#include "base/err.h"

/*
 * The programs that read an agent's files give up all other rights before they open one, so that a
 * hostile file which takes over the program gains little. Afterwards the program can read the
 * directories `read` (descriptors; below 0: none), and read and write the directory `write`. It
 * has no other file (if the kernel has Landlock), no network, no program to run and no other
 * process. Processor time, memory and file size are limited.
 */
#define TR_CPU_S 600
#define TR_MEMORY ((uint64_t)1 * GiB)
#define TR_FILE_MAX ((uint64_t)16 * GiB)

int tr_confine(const int read[2], int write, struct err *err);
