#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct engine;

/*
 * While everything inside is frozen: what is at `path` of the host now, in the directory `parent`,
 * is covered inside again, and nothing that was taken of it before leads there. -ENOENT: there is
 * nothing at the path.
 */
int cover_again(struct engine *e, const struct spec_mount *m, int parent, const char *path,
		struct err *err);
