#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * Each process of the gateway gives up its rights in named stages, before it reads its first byte
 * from the sandbox or the network. A stage that fails is an error, except Landlock on a kernel that
 * does not know it.
 */
struct isolate {
	const char *ca_file, *ca_dir; /* stay readable with Landlock */
	bool landlock;		      /* out: files are closed by path; else by system call */
};

/*
 * Drops capabilities and closes files. Without Landlock, files must be read before the next stage.
 */
int isolate_files(struct isolate *i, struct err *err);
/* System calls: the last stage. */
int isolate_calls(const struct isolate *i, struct err *err);

/* The resolver's helper, and a worker of it (which adds to what the helper gave up). */
int isolate_helper(int sock);
int isolate_worker(void);
