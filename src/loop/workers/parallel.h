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
 * works like any loop, with its own journal. This loop is a pool with a number of slots.
 *
 *	slots   A running worker has a slot. A slot that becomes free takes the next ready task at
 *	        once, even while a merge is being verified. A task is ready when its dependencies
 *	        are merged; its branch starts from the last head that was verified.
 *	queue   A worker that has ended stays in the pool until it is finished: settled, or merged.
 *	        The pool holds at most POOL_PER_SLOT workers for each slot, so that branches that
 *	        wait for a long verification do not fill the disk.
 *	merges  All done workers of the queue are merged as one set, in the order of the list, and
 *	        verified once, with the commands of all their tasks. When that fails, the branch
 *	        goes back and each half of the set is a set of its own, down to the one task that
 *	        is at fault. A branch that conflicts is merged alone after its set. A task whose
 *	        merge fails is ready again, and its next agent starts from the merged project.
 *
 *	parallel.c        which workers run, with which share of the limits, and how often
 *	room.c            how many slots memory, disk and open files allow
 *	parallel-room.c   how many slots this loop has
 *	parallel-rows.c   the rows of the state, one for each worker
 *	parallel-merge.c  sets of done workers
 *	parallel-end.c    the end of a worker: settle, clean up
 *	worker.c          one worker on this machine: its process, its output, its usage
 *	../placed         one on another machine
 *	worker-request.c  the request to a worker
 *
 * Limits apply to the whole loop. A worker is started with a share of the iterations and the cost
 * that no other running worker has. A worker that has used its share ends, and is started again
 * when there is a share for it. Time is the same for all: a worker's time counts from the moment
 * it was started, so that time of several workers counts once.
 *
 * state.workers has a row for each worker, from before its worktree is created until its worktree
 * and its sandbox are removed. A loop that continues after a kill continues with its workers, whose
 * own journals say where they were. One write adds a worker's usage to the loop's counters and
 * records that in its row. The head before a merge is in the rows of its set before the merge is
 * made; the write that follows the verification replaces it by the merged commit, and after that
 * the branch never goes back behind it.
 */
#define POOL_PER_SLOT 2

struct pool;
struct worker;

/* Computes the number of slots, and prints it: once, before the first agent runs. */
int parallel_open(struct loop *l, struct err *err);
/* Runs workers until no task is ready, a limit is reached or the user asks for an end. *ret_code is
 * the exit code that ends the loop, or -1. *ret_ran: false when there was nothing for several
 * workers, and the loop works on the next task itself. */
int parallel_run(struct loop *l, bool *ret_ran, int *ret_code, struct err *err);

enum worker_state {
	WORKER_WAITS, /* for a slot and a share of the limits */
	WORKER_RUNS,
	WORKER_ENDED, /* its usage is not yet counted */
	WORKER_FINAL, /* its task is to be settled, or its branch to be merged */
	WORKER_LEFT,  /* it continues with another pool */
	WORKER_GONE,  /* finished */
	WORKER_STATE_N
};

/* Where a worker runs: beside this process, or on another machine (loop/placed). */
struct worker_ops {
	/* Before its first start: its branch begins at `head`, or is there already. */
	int (*make)(struct worker *w, const char *head, struct err *err);
	/* NULL, or puts into its row what has to be written down before it is started: the rows of
	 * all that are started together are written once. */
	int (*prepare)(struct worker *w, struct err *err);
	/* Starts the worker, or resumes it. */
	int (*start)(struct worker *w, struct err *err);
	/* Asks it to end: at once, or after its iteration. */
	void (*end)(struct worker *w, bool now);
	/* Releases the process and its descriptors; the worker may be started again. */
	void (*stop)(struct worker *w);
	/* Adds its new usage to the loop's counters, and takes over its records and the reason for its
	 * task's state. */
	void (*account)(struct worker *w);
	/* Removes what it leaves behind. */
	int (*clear)(struct worker *w, struct err *err);
};
extern const struct worker_ops worker_local;

struct placed;

struct worker {
	struct loop *l;
	struct pool *pool;
	struct task *task;
	const struct worker_ops *ops;
	enum worker_state state;
	char *branch, *path;	/* of its worktree */
	char *before;		/* the head before its set was merged; NULL: not merged */
	char *commit;		/* its merge, which is verified; NULL: none */
	struct loop_used taken; /* the part of its counters that the loop has already counted */
	uint64_t taken_tokens;	/* likewise */
	uint64_t taken_waited;	/* of the taken iterations: those that the limits do not count */
	struct loop_used share; /* how much more the worker may use */
	uint64_t began;		/* the loop's active_ms when it was started */
	struct child child;
	int out;
	struct ev_io out_io, child_io;
	struct lines *lines;
	unsigned attempts; /* attempts of the task before this one */
	unsigned deaths;   /* by signals that the loop did not send */
	int code;
	char *why; /* reason for the state of its task */
	/* Of a worker on another machine. */
	struct placed *placed; /* while it runs; NULL: it does not */
	char *place;	       /* the placement's name; NULL: it runs on this machine */
	char *lease;	       /* of its epoch; NULL: it was never started */
	char *node, *job;      /* as the node says; NULL: it has not said */
	char *base;	       /* the commit that its branch began at */
	char *checkpoint;      /* the last commit that was taken over; NULL: none */
	unsigned epoch, tries; /* tries: attempts of this epoch, as the node counts them */
	uint64_t hub;	       /* whose slot it has or had last; 0: it had a stream for itself */
	bool hopeless;	       /* another worker would be lost in the same way */
	bool yields;	       /* it was told to end, as too many work for the provider */
	bool lost;	       /* it ended without a verdict */
	bool rejected;	       /* its commits are not taken; `why` says why */
};

/* parallel.c: called by the worker's process when it has ended. */
void pool_worker_ended(struct pool *p);
/* A worker elsewhere met a limit of the provider that holds for that time; 0: it is not known. */
void pool_limited(struct pool *p, uint64_t for_ms);
/* While a merge is unverified, new branches start from this commit; NULL: from the head. */
void pool_set_base(struct pool *p, const char *base);

/* parallel-rows.c: writes the worker's row to the state in memory; the caller calls state_save(). */
void worker_note(const struct worker *w);
void worker_read_row(struct worker *w, const json_t *row);
/* True when this exit code ends the worker's task, whatever remains of the limits. */
bool worker_is_final(int code);

/* parallel-merge.c: merges done workers, n at least 1, in the order of the list. */
int workers_merge(struct pool *p, struct worker **set, size_t n, struct err *err);

/* parallel-end.c: settles the task of a worker that has ended and is not done. */
int worker_settle(struct worker *w, struct err *err);
/* The task is done: the worker's commit is verified and its row says so. */
int worker_accept(struct worker *w, struct err *err);
/* The merge of the worker's branch failed: the task is ready again, or stuck. */
int worker_reject(struct worker *w, const char *why, struct err *err);
/* The worker continues later, so its row stays. */
int worker_leave(struct worker *w, int *ret_code, struct err *err);
/* Removes the worktree if it is clean, the sandbox and the row. */
int worker_clear(struct worker *w, struct err *err);

/* worker.c */
void worker_done(struct worker *w);
/* A line of its output, for people. */
void worker_line(void *arg, const char *line, size_t n);
/* The same as worker_ops.account, for this summary; logs is the directory of its logs, -1: none. */
void worker_take_summary(struct worker *w, const json_t *summary, int logs);

/* worker-request.c */
json_t *worker_list(const struct worker *w); /* a prd.json of its one task */
/* Sets its share of the limits in the flags of a request. */
void worker_limits(const struct worker *w, json_t *flags);
int worker_request(const struct worker *w, bool resume, int *ret_fd, struct err *err);
