#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A snapshot of the machine's processes, to sum up the usage of a sandbox's tree. One pass over
 * /proc. */
struct proc_row {
	pid_t pid, parent;
	uint64_t start;	 /* in the kernel's ticks */
	uint64_t ticks;	 /* of processor time, including ended children */
	uint64_t memory; /* resident bytes */
};

struct procs {
	struct proc_row *v; /* sorted by pid */
	size_t n, cap;
};

#define PROCS_MAX 100000

int procs_read(struct procs *p); /* may be called again on the same struct */
void procs_done(struct procs *p);
const struct proc_row *procs_find(const struct procs *p, pid_t pid);

struct proc_sum {
	uint64_t ticks, memory;
	size_t n;
};
/* Adds every process to the sum of the root that it descends from, itself included. */
void procs_sum(const struct procs *p, const pid_t *roots, struct proc_sum *ret, size_t n);
