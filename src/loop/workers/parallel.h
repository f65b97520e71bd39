#pragma once

/*
 * ROOM: loop/workers
 *
 * Several tasks at once: each a loop of its own in a worktree of its own, and the merge of what
 * they did.
 */

#include "base/proc.h"
#include "loop/loop.h"

struct lines;

/*
 * DOC: Theory of operation
 *
 * Several tasks at once (--parallel): each gets a branch and a worktree of its own, and a loop of
 * its own in it, which is this program again with a list of that one task. What such a worker does
 * is what any loop does, its journal included; this loop starts them, shows what they say, and
 * when all have ended merges the branches of those that are done, in the order of the list. A merge
 * that conflicts, or whose result does not verify, is not made: the task is ready again, and its
 * next agent works on what the others have made of the project.
 *
 *	parallel.c        which run, with which share of the limits, how often
 *	parallel-end.c    what becomes of one that has ended: merged, settled, cleared away
 *	worker.c          one of them: its process, what it says, what it has used
 *	worker-request.c  what it is asked
 *
 * Limits are the loop's. What is left of iterations and cost is shared out among those that run,
 * time is the same for all; one that has used its share ends, and is started again with a share of
 * what the others have left over, until nothing is left.
 *
 * state.workers has a row for each from before its worktree is made until its worktree and its
 * sandbox are gone: a loop that goes on after a kill goes on with its workers, whose own journals
 * say where they were. What a worker has used is added to the loop's counters in the write that
 * says in its row that it was; the head before a merge is in the row before the merge is made.
 */
#define PARALLEL_MAX 16

/* One batch. *ret_code: the exit code that ends the loop, or -1. */
int parallel_run(struct loop *l, struct task **tasks, size_t n, int *ret_code, struct err *err);
/* What a killed loop had under way, or one that was paused or has reached a limit. */
int parallel_recover(struct loop *l, int *ret_code, struct err *err);

struct worker {
	struct loop *l;
	struct task *task;
	char *branch, *path;	/* of its worktree */
	char *before;		/* the head before it was merged; NULL: it was not */
	struct loop_used taken; /* of its counters, so much is in the loop's */
	uint64_t taken_tokens;	/* likewise */
	struct loop_used share; /* so much more it may use */
	struct child child;
	int out;
	struct ev_io out_io, child_io;
	struct lines *lines;
	size_t *running;   /* how many are */
	unsigned attempts; /* of its task, before */
	unsigned deaths;   /* in this batch, by signals that nobody here sent */
	int code;
	bool runs, over; /* it was started; it has ended */
};

/* parallel-end.c: of one that has ended; *ret_code as above. */
int worker_finish(struct worker *w, int *ret_code, struct err *err);
/* Its worktree, when clean, its sandbox and its row. */
int worker_clear(struct worker *w, struct err *err);

/* The row in the state, as it is now; state_save() is the caller's. */
void worker_note(const struct worker *w);

/* worker.c: starts it in its worktree, or lets it go on. */
int worker_start(struct worker *w, struct err *err);
/* The process and what belongs to it; it may be started again. */
void worker_stop(struct worker *w);
void worker_done(struct worker *w);
/* What it says of itself: its counters, as far as they were not, are added to the loop's, its
 * records are taken over; not its time, which is the result, as others worked at the same time.
 * *ret_why: of its task; the caller frees it. */
uint64_t worker_account(struct worker *w, char **ret_why);

/* worker-request.c */
int worker_request(const struct worker *w, bool resume, int *ret_fd, struct err *err);
