#pragma once

#include "base/err.h"
#include "engine/cgroup.h"

#include <sys/types.h>

/*
 * Everything inside a sandbox stands still: by the freezer of its cgroup (v2), else by SIGSTOP to
 * all processes of its pid namespace at once. A job that was stopped before stays stopped.
 */
#define FREEZE_STOPPED_MAX 1024 /* jobs that stay stopped; further ones go on */

struct freeze {
	const struct cgroup *cgroup; /* NULL: by signals */
	pid_t init;
	pid_t *stopped; /* pids of the host that were stopped before */
	size_t n_stopped;
};

/*
 * c: the sandbox's own cgroup, or one without a place. Returns 0 only when nothing inside runs any
 * more; at an error nothing stays frozen. Blocks for FREEZE_MS at most.
 */
#define FREEZE_MS 10000
int freeze_begin(const struct cgroup *c, pid_t init, struct freeze *ret, struct err *err);
void freeze_end(struct freeze *f);
