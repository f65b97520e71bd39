#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * What each process of the gateway gives up, in named stages, before it reads its first byte from
 * the sandbox or the network. A stage that cannot be had is an error, except Landlock on a kernel
 * that does not know it.
 */
struct isolate {
	const char *ca_file, *ca_dir; /* stay readable where Landlock is there */
	bool landlock;		      /* out: files are closed by path; else by system call */
};

/* Capabilities and files. Without Landlock what is to be read must be loaded before the next. */
int isolate_files(struct isolate *i, struct err *err);
/* System calls: the last stage. */
int isolate_calls(const struct isolate *i, struct err *err);

/* The resolver's helper, and a worker of it (which adds to what the helper gave up). */
int isolate_helper(int sock);
int isolate_worker(void);
