#pragma once

#include "engine/cgroup.h"
#include "engine/freeze.h"
#include "engine/ops.h"
#include "wire/root-proto.h"

/* Shared by the two halves of the native engine: what it would do, and doing it. */

struct native {
	struct engine base;
	const struct sandbox_spec *spec;
	struct guest_root root; /* strings are the spec's, which outlives the plan */
	const char *guest;	/* its path on the host */

	/* from start() on */
	char *cgroup_name;
	struct cgroup_support support;
	struct cgroup_limits limits;
	struct cgroup cgroup;
	struct child guest_process; /* pid 1 of the sandbox, our own child */
	int line;		    /* to the guest, until start() gives it away */
	int complaint;		    /* its stderr */
	struct freeze freeze;
	int mounts; /* its mount namespace, once it is to end */
};

static inline struct native *native_of(struct engine *e)
{
	return (struct native *)e;
}

int native_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void native_dump(const struct engine *e, FILE *out);
int native_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err);
