#pragma once

#include "workspace/findings.h"
#include "spec/spec.h"

#include <time.h>

/*
 * The places of a spec where something that the host would run may appear: what was there when the
 * sandbox started, and what is there now. See docs/internals/workspace.md.
 *
 * surface_compare() looks at the places themselves, some dozens of names: cheap enough for the end
 * of every command. surface_walk() looks at the whole tree, and is for the end of the sandbox.
 */
struct surface;

struct surface *surface_new(const struct sandbox_spec *spec); /* the spec must outlive it */
struct surface *surface_free(struct surface *s);
DEFINE_FREEP(struct surface, surface_free)

/*
 * Adds what appeared or changed since the last time, and remembers it. What is mounted read-only
 * inside can only have been changed on the host: its paths go to `again` instead, whose mounts are
 * gone if the file was replaced.
 */
void surface_compare(struct surface *s, struct findings *out, struct strv *again);
/* What is at this path now is as it should be. */
void surface_accept(struct surface *s, const char *path);

/* Does a name that appears in a watched directory matter? */
bool surface_cares(const char *name);

/*
 * Everything below the writable trees that is newer than `since`: repositories, settings, programs
 * on the PATH. all: also what surface_compare() would have found, for a sandbox whose supervisor
 * was killed.
 */
void surface_walk(const struct sandbox_spec *spec, const struct timespec *since, bool all,
		  struct findings *out);

/* Is this read-only inside by a mount of its own, or of something above it? */
bool surface_is_mounted(const struct sandbox_spec *spec, const char *path);
