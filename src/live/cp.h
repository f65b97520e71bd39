#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>

/*
 * `ralph cp`: files into a sandbox and out of it, live or not. Both sides are opened on the host,
 * where the sandbox's mounts lie, and nothing that the sandbox could have made is followed: see
 * base/copy.h.
 */
struct sandbox_copy {
	const char *name;
	const char *inside;  /* absolute, or relative to the workspace */
	const char *outside; /* as the user wrote it */
	bool out;	     /* from the sandbox to the host */
};

/* *skipped: sentences about what was left out. */
int sandbox_copy(const struct places *p, const struct sandbox_copy *c, struct strv *skipped,
		 struct err *err);
