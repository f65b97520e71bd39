#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where loops are: .ralph/active of a workspace says which process drives the one there, and
 * STATE/loops/ has a file for each workspace that ever had one. For the loop itself, and for the
 * commands that find it.
 */
#define LOOPS_LOGS ".ralph/logs"
/* Below that, NAME or NAME.2 …: event logs of sandboxes that were removed with their work done. */
#define LOOPS_KEPT_EVENTS "events"

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

/*
 * Where the state of a workspace's loop is. Whoever reads or writes it asks here.
 *
 * In .ralph/state of the workspace, which sandboxes hide; or apart, in STATE/loops/KEY, where the
 * workspace was ever shown to an agent that nothing can be hidden from (a machine of its own, or no
 * sandbox). What is apart stays apart: the directory there decides, whatever the workspace has.
 * KEY stands for this very directory, by its path and the moment it was made.
 */
struct loop_path {
	int state;  /* -1: there is none yet */
	int active; /* the directory that `active` is in; -1: there is none yet */
	char *path; /* of the state, be it there or not */
	bool apart;
};

#define LOOP_PLACE_INIT                                                                            \
	{                                                                                          \
		.state = -1, .active = -1                                                          \
	}
void loop_path_done(struct loop_path *l);
#define cleanup_loop_place cleanup_(loop_path_done)

/* workspace: any path of a directory. 0 also where there is no state. */
int loops_find(const struct places *p, const char *workspace, struct loop_path *ret,
	       struct err *err);
/*
 * Before the workspace is shown to such an agent: its state is apart from now on, moved there in
 * one step. -EBUSY while a loop works in it, unless that is the caller (`held`).
 */
int loops_set_apart(const struct places *p, const char *workspace, bool held, struct err *err);

/* Remembers, by the instance key, that this workspace has a loop. */
int loops_remember(const struct places *p, const char *key, const char *workspace, struct err *err);
/* All workspaces that are remembered; those that are gone are forgotten. */
int loops_each(const struct places *p, struct strv *ret_workspaces, struct err *err);
