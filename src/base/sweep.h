#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Ends a tree of processes that may fork while it is being ended. A round looks at /proc once:
 * what it has not seen before is stopped, so that it holds its place in the process limit and
 * forks no more; a round that finds nothing new kills everything. Processes are signalled
 * through pidfds after a second look, so a number that was reused is never hit.
 *
 * /proc is written by the processes in it: names are skipped, numbers are bounded, and what
 * cannot be read is not there.
 */
#define SWEEP_MS_MAX 1000 /* a tree that still grows after this is a fork bomb */

enum sweep_result {
	SWEEP_FOUND_NEW, /* look again at once */
	SWEEP_KILLED,  /* everything known has its SIGKILL: look again when some time has passed */
	SWEEP_EMPTY,   /* no living process is in the tree */
	SWEEP_ENDLESS, /* new processes keep coming */
};

/* Forgets what earlier rounds saw; the time runs from here. */
void sweep_start(void);

/*
 * Makes one round over the descendants of this process. The children in except[] (-1 for an empty
 * place) and their descendants are left alone.
 */
enum sweep_result sweep_round(int proc_fd, const pid_t *except, size_t n_except);
