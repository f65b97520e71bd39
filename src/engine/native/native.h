#pragma once

#include "engine/cgroup.h"
#include "engine/freeze.h"
#include "engine/ops.h"
#include "wire/root-proto.h"

/* Shared by the two halves of the native engine: what it would do, and doing it. */

#define NATIVE_STATUS_MAX 4096 /* what bwrap may tell about its child */

struct native {
	struct engine base;
	const struct sandbox_spec *spec;
	struct strv args;	/* of bwrap, as shown */
	struct guest_root root; /* strings are the spec's, which outlives the plan */
	const char *guest;	/* its path on the host */

	/* from start() on */
	char *cgroup_name;
	struct cgroup_support support;
	struct cgroup_limits limits;
	struct cgroup cgroup;
	struct child bwrap;
	int line;		      /* to the guest, until start() gives it away */
	int status;		      /* bwrap tells its child's pid here */
	char said[NATIVE_STATUS_MAX]; /* so far */
	size_t said_len;
	int complaint;	/* bwrap's stderr */
	pid_t init_pid; /* the guest, seen from here; 0 until bwrap has told */
	int init_pidfd;
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
