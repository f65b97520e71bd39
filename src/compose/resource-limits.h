#pragma once

#include "base/err.h"
#include "engine/cgroup.h"
#include "spec/spec.h"

#include <stdint.h>
#include <sys/resource.h>

struct config;

/* The facts about the machine that limits_decide() needs. */
struct limits_facts {
	uint64_t mem_total;	/* bytes */
	uint64_t mem_enclosing; /* an enclosing cgroup's limit; UINT64_MAX: none */
	uint64_t nofile_hard;	/* RLIMIT_NOFILE, hard */
	uint64_t nproc_hard;	/* RLIMIT_NPROC, hard; RLIM_INFINITY: none */
	uint64_t pids_max;	/* kernel.pid_max */
	unsigned cpus;		/* this process may run on */
	bool nproc_per_userns;	/* Linux 5.14: RLIMIT_NPROC counts inside a user namespace */
	bool root;		/* RLIMIT_NPROC does not count the processes of root */
};
/* src: what cgroup_source_read() gave; NULL reads it again. */
int limits_facts_read(const struct cgroup_source *src, struct limits_facts *ret, struct err *err);

/*
 * The configuration's limits as they will hold here: memory 0 becomes three quarters of what the
 * machine (or an enclosing cgroup) has, open files are clamped to the hard limit, and ->method
 * says what enforces them. Pure. A limit the machine cannot hold at all is an error, exit 2.
 */
int limits_decide(const struct config *c, const struct limits_facts *facts,
		  const struct cgroup_support *cgroup, struct spec_limits *ret, struct err *err);

/*
 * The rlimits of a command: always open files (cores are the guest's); where cgroups do not bound
 * memory or pids, RLIMIT_DATA (per process; address space is not limited: node and Go reserve much
 * more than they use) and RLIMIT_NPROC. In the order they are to be set.
 */
size_t limits_rlimits(const struct spec_limits *l, const struct limits_facts *facts,
		      unsigned cgroup_controllers, struct spec_rlimit ret[SPEC_RLIMITS_MAX]);

/* *ret is the value of limits.memory 0 on this machine, in bytes. */
int limits_memory_share(uint64_t *ret, struct err *err);

/* Nothing here bounds how many processes there are: root, and no cgroup. */
bool limits_pids_unbounded(const struct limits_facts *facts, unsigned cgroup_controllers);

/* For people: what of the limits no cgroup holds, and so nothing does; NULL: nothing. The caller frees
 * it. */
char *limits_unbounded(const struct spec_limits *l);
