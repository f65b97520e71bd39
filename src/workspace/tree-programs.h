#pragma once

#include "spec/spec.h"

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Programs that the user's shell or git runs from the tree: those of the spec's SPEC_WATCH_PATH
 * directories and of git.named. Links on the way are followed by their text, inside the writable
 * trees alone, and each one is a visit of its own: who replaces it chooses the program.
 */
enum program_visit {
	PROGRAM_WAY,  /* a component of the path: a directory, or a link */
	PROGRAM_FILE, /* what is run if it can be */
	PROGRAM_ANY,  /* what is run whatever its mode is */
};

/* `name` in dirfd is at path. False: what lies behind it is not visited. */
typedef bool program_fn(void *arg, enum program_visit visit, int dirfd, const char *name,
			const char *path, const struct stat *st);

void programs_visit(const struct sandbox_spec *spec, program_fn *fn, void *arg);
