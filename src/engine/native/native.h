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

/* The engines that put another kernel into such a sandbox share all but the plan and the mounts. */
void native_init(struct engine *e);
int native_start(struct engine *e, struct engine_proc *ret, struct err *err);
void native_adopt(struct engine *e, struct engine_launch *l);
pid_t native_init_pid(struct engine *e);
void native_complaint(struct engine *e, char *ret, size_t size);
void native_kill(struct engine *e);
int native_freeze(struct engine *e, struct err *err);
void native_thaw(struct engine *e);
int native_stop(struct engine *e, struct err *err);
void native_done(struct engine *e);
void native_clean(const struct sandbox_spec *spec);

int native_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void native_dump(const struct engine *e, FILE *out);
int native_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err);

/* As host_native_try(), with another kernel inside, run by this program: 0, or an error that says what
 * failed. */
int host_inside_try(enum guest_inside inside, const char *program, int timeout_ms, struct err *err);
