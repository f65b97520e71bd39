#pragma once

#include "workspace/findings.h"
#include "spec/spec.h"

#include <time.h>

/*
 * The places of a spec where something that the host would run may appear: what was there when the
 * sandbox started, and what is there now. See docs/internals/workspace.md.
 *
 * host_run_compare() looks at the places themselves, some dozens of names: cheap enough for the end
 * of every command. host_run_walk() looks at the whole tree, and is for the end of the sandbox.
 */
struct host_run;
struct seen;

struct host_run *host_run_new(const struct sandbox_spec *spec); /* the spec must outlive it */
struct host_run *host_run_free(struct host_run *s);
DEFINE_FREEP(struct host_run, host_run_free)

/* Adds what appeared or changed since the last time, and remembers it. What is mounted read-only
 * inside can only have been changed on the host, and is left to whoever mounts it again. */
void host_run_compare(struct host_run *s, struct findings *out);
/* What is at this path now is as it should be. */
void host_run_accept(struct host_run *s, const char *path);

/* Does a name that appears in a watched directory matter? */
bool host_run_cares(const char *name);

struct host_run_before {
	const struct seen *seen; /* NULL: times decide */
	const char *state;	 /* ralph's own directory: nothing in the trees leads there */
};
#define HOST_RUN_STATE_LINK "leads into the state of ralph, where the agent has files of its own"

/*
 * Everything below the writable trees that is new or changed: repositories and programs on the PATH
 * that are newer than `since`, settings that are not as they were. all: also what host_run_compare() would have found, for a sandbox whose supervisor
 * was killed.
 */
void host_run_walk(const struct sandbox_spec *spec, const struct timespec *since,
		   const struct host_run_before *before, bool all, struct findings *out);

/*
 * The same, in rounds: more than one list holds is found when the first are gone. settle() says
 * whether it moved anything.
 */
typedef bool host_run_settle_fn(void *arg, struct findings *found);
void host_run_finish(const struct sandbox_spec *spec, const struct timespec *since,
		     const struct host_run_before *before, bool all, host_run_settle_fn *settle,
		     void *arg);

/* Is this read-only inside by a mount of its own, or of something above it? */
bool host_run_is_mounted(const struct sandbox_spec *spec, const char *path);
/* Is something else in its place inside? Then nobody there can reach it. */
bool host_run_is_covered(const struct sandbox_spec *spec, const char *path);
