#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The machine's processes at one moment, for what a sandbox's tree uses. One pass over /proc. */
struct proc_row {
	pid_t pid, parent;
	uint64_t start;	 /* in the kernel's ticks */
	uint64_t ticks;	 /* of processor time, its ended children's included */
	uint64_t memory; /* bytes that are resident */
};

struct procs {
	struct proc_row *v; /* sorted by pid */
	size_t n, cap;
};

#define PROCS_MAX 100000

int procs_read(struct procs *p); /* again and again into the same */
void procs_done(struct procs *p);
const struct proc_row *procs_find(const struct procs *p, pid_t pid);

struct proc_sum {
	uint64_t ticks, memory;
	size_t n;
};
/* Adds every process to the sum of the root that it descends from, itself included. */
void procs_sum(const struct procs *p, const pid_t *roots, struct proc_sum *ret, size_t n);
