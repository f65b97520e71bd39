#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

/* Files of ralph's own in memory, over an operation of git that would revert or remove them: they
 * record which tasks are done. All zero is an empty list. */
struct kept_files {
	struct strv paths;
	struct buf *texts;
};

/* root: directory that the paths are relative to. Files that cannot be read are left out. */
void kept_files_read(int root, const struct strv *paths, struct kept_files *ret);
/* Writes them again (missing: only those that are gone) and frees all. */
int kept_files_put(int root, struct kept_files *k, bool missing, struct err *err);
void kept_files_done(struct kept_files *k);
