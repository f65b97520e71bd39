#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct engine;

typedef void cover_note(void *arg);
/*
 * While everything inside is frozen: what is at `path` of the host now, in the directory `parent`,
 * is covered inside again, and nothing that was taken of it before leads there. -ENOENT: there is
 * nothing at the path. Calls note when the new inode is there, before the cover is on it: a file
 * that the host puts there from then on is another one.
 */
int cover_again(struct engine *e, const struct spec_mount *m, int parent, const char *path,
		cover_note *note, void *arg, struct err *err);
