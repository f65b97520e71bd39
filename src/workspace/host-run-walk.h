#pragma once

#include "workspace/findings.h"
#include "workspace/host-run.h"

#include <sys/stat.h>
#include <time.h>

struct seen;
struct tree_dir;

/* host_run_walk() in parts. */
struct host_walk {
	const struct sandbox_spec *spec;
	struct timespec since;
	struct findings *out;
	bool all; /* what was there at the start is looked at as well */
	const struct seen *seen;
	const char *state;
};

bool host_walk_is_fresh(const struct host_walk *w, const struct stat *st);
/* Is this directory a git directory by its content, and was none at the start? */
bool host_walk_appeared(const struct host_walk *w, const struct tree_dir *d);
/* All of it goes, or HEAD alone where the directory is older than that. */
void host_walk_put_away(struct host_walk *w, const struct tree_dir *d);
void host_walk_refused(struct host_walk *w, const struct tree_dir *d, const char *name, int error);
/* host-run-known.c: one that was there at the start; fd is taken. */
void host_walk_known(struct host_walk *w, int fd, const char *path);
