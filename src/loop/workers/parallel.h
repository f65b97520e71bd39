#pragma once

/*
 * ROOM: loop/workers
 *
 * Parallel tasks: each has its own loop in its own worktree, and the results are merged.
 */

#include "base/proc.h"
#include "loop/loop.h"

struct lines;

/*
 * DOC: Theory of operation
 *
 * With --parallel, several tasks run at once. Each gets its own branch, its own worktree and its
 * own loop in it: a worker, which is this program again with a list of that one task. A worker
 * works like any loop, with its own journal. This loop starts the workers and shows their output.
 * When all have ended, it merges the branches of the finished ones in the order of the list. A
 * merge that conflicts, or whose result fails the checks, is not kept: the task is ready again, and
 * its next agent starts from the merged project.
 *
 *	parallel.c        which workers run, with which share of the limits, how often
 *	parallel-end.c    the end of a worker: merge, settle, clean up
 *	worker.c          one worker: its process, its output, its usage
 *	worker-request.c  the request to a worker
 *
 * Limits apply to the whole loop. The remaining iterations and cost are shared among the running
 * workers; time is the same for all. A worker that has used its share ends. It is started again
 * with a share of what the others have left, until nothing is left.
 *
 * state.workers has a row for each worker, from before its worktree is created until its worktree
 * and its sandbox are removed. A loop that continues after a kill continues with its workers, whose
 * own journals say where they were. One write adds a worker's usage to the loop's counters and
 * records that in its row. The head before a merge is in the row before the merge is made.
 */
#define PARALLEL_MAX 16

/* Runs one batch. *ret_code is the exit code that ends the loop, or -1. */
int parallel_run(struct loop *l, struct task **tasks, size_t n, int *ret_code, struct err *err);
/* Resumes the workers of a loop that was killed, was paused, or reached a limit. */
int parallel_recover(struct loop *l, int *ret_code, struct err *err);

struct worker {
	struct loop *l;
	struct task *task;
	char *branch, *path;	/* of its worktree */
	char *before;		/* the head before the merge; NULL: not merged */
	struct loop_used taken; /* the part of its counters that the loop has already counted */
	uint64_t taken_tokens;	/* likewise */
	uint64_t taken_waited;	/* of the taken iterations: those that the limits do not count */
	struct loop_used share; /* how much more the worker may use */
	struct child child;
	int out;
	struct ev_io out_io, child_io;
	struct lines *lines;
	size_t *running;   /* number of running workers */
	unsigned attempts; /* attempts of the task before this one */
	unsigned deaths;   /* in this batch, by signals that the loop did not send */
	int code;
	bool runs, over; /* started; ended */
};

/* parallel-end.c: finishes a worker that has ended; *ret_code as above. */
int worker_finish(struct worker *w, int *ret_code, struct err *err);
/* Removes the worktree if it is clean, the sandbox and the row. */
int worker_clear(struct worker *w, struct err *err);

/* Writes the worker's row to the state in memory; the caller calls state_save(). */
void worker_note(const struct worker *w);

/* worker.c: starts the worker in its worktree, or resumes it. */
int worker_start(struct worker *w, struct err *err);
/* Releases the process and its descriptors; the worker may be started again. */
void worker_stop(struct worker *w);
void worker_done(struct worker *w);
/* Reads the worker's own state: adds its new usage to the loop's counters, and takes over its
 * records. Returns its time without adding it, because other workers ran at the same time.
 * *ret_why is the reason for its task's state; the caller frees it. */
uint64_t worker_account(struct worker *w, char **ret_why);

/* worker-request.c */
int worker_request(const struct worker *w, bool resume, int *ret_fd, struct err *err);
