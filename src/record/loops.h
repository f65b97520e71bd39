#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The locations of loops: .ralph/active of a workspace names the process of its loop, and
 * STATE/loops/ has a file for each workspace that ever had one. It is for the loop itself, and for
 * the commands that find it.
 */
#define LOOPS_LOGS ".ralph/logs"
/* NAME or NAME.2 … below it: event logs of sandboxes that were removed when their work was done. */
#define LOOPS_KEPT_EVENTS "events"

struct loop_active {
	pid_t pid;
	uint64_t
		start; /* when that process started, in the kernel's ticks: a pid alone is reused */
};

/* Returns 0 when the process cannot be read. */
uint64_t loops_start_time(pid_t pid);
/* dir: .ralph. -ENOENT when no loop runs there; the file may be stale. */
int loops_read_active(int dir, struct loop_active *ret);
/* Signals this process, and no other one with the same pid: -ESRCH. */
int loops_signal(const struct loop_active *a, int sig);

/*
 * The location of a loop's state. Every reader and writer of the state uses these functions.
 *
 * The state is in .ralph/state of the workspace, which sandboxes hide. It is apart, in
 * STATE/loops/KEY, if the workspace was ever shown to an agent from which nothing can be hidden (an
 * engine without a guest, or no sandbox). A state that is apart stays apart: the directory there
 * counts, whatever the workspace holds. KEY stands for this exact directory, by its path and its
 * creation time.
 */
struct loop_path {
	int state;  /* -1: none yet */
	int active; /* directory of the file `active`; -1: none yet */
	char *path; /* of the state, whether it exists or not */
	bool apart;
};

#define LOOP_PLACE_INIT                                                                            \
	{                                                                                          \
		.state = -1, .active = -1                                                          \
	}
void loop_path_done(struct loop_path *l);
#define cleanup_loop_place cleanup_(loop_path_done)

/* workspace: any path of a directory. Returns 0 also without a state. */
int loops_find(const struct places *p, const char *workspace, struct loop_path *ret,
	       struct err *err);
/*
 * Moves the state apart, atomically, before the workspace is shown to an agent that would see it.
 * -EBUSY while a loop works in it, unless that is the caller (`held`).
 */
int loops_set_apart(const struct places *p, const char *workspace, bool held, struct err *err);

/* Records that this workspace has a loop. Worktrees of one repository are workspaces of their own. */
int loops_remember(const struct places *p, const char *workspace, struct err *err);
/* The name of a loop for rules that hold in all its sandboxes: of the workspace that it was started in. */
char *loops_key(const char *workspace);
/* Returns all recorded workspaces, each once; removed ones are dropped. */
int loops_each(const struct places *p, struct strv *ret_workspaces, struct err *err);
