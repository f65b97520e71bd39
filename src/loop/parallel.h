#pragma once

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
 * state.workers has a row for each from before its worktree is made until its task is settled: a
 * loop that goes on after a kill goes on with its workers, whose own journals say where they were.
 */

/* One batch. *ret_code: the exit code that ends the loop, or -1. */
int parallel_run(struct loop *l, struct task **tasks, size_t n, int *ret_code, struct err *err);
/* What a killed loop had under way; 0 when there is nothing. */
int parallel_recover(struct loop *l, int *ret_code, struct err *err);

/* worker.c: one of them */
struct worker {
	struct loop *l;
	struct task *task;
	char *branch, *path; /* of its worktree */
	struct child child;
	int out;
	struct ev_io out_io, child_io;
	struct lines *lines;
	int code;
	bool over;
	size_t *running; /* how many are */
};

/* Starts it in its worktree, or lets it go on. */
int worker_start(struct worker *w, struct err *err);
void worker_done(struct worker *w);
/* What it says of itself when it has ended: counters are added to the loop's, its records are
 * taken over. *ret_why: of its task; the caller frees it. */
void worker_account(struct worker *w, char **ret_why);
