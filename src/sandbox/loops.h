#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "sandbox/places.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Where loops are: .ralph/active of a workspace says which process drives the one there, and
 * STATE/loops/ has a file for each workspace that ever had one. For the loop itself, and for the
 * commands that find it.
 */
struct loop_active {
	pid_t pid;
	uint64_t
		start; /* when that process began, in the kernel's ticks: a pid alone comes again */
};

/* 0 when a process begun then cannot be looked at. */
uint64_t loops_start_time(pid_t pid);
/* dir: .ralph. -ENOENT when nothing drives a loop there now; the file may be stale. */
int loops_read_active(int dir, struct loop_active *ret);
/* Sends the signal to that process, and to no other that has its number by now: -ESRCH. */
int loops_signal(const struct loop_active *a, int sig);

/* Remembers, by the instance key, that this workspace has a loop. */
int loops_remember(const struct places *p, const char *key, const char *workspace, struct err *err);
/* All workspaces that are remembered; those that are gone are forgotten. */
int loops_each(const struct places *p, struct strv *ret_workspaces, struct err *err);
