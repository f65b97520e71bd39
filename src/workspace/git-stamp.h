#pragma once

#include <stdint.h>

/*
 * Has HEAD or a reference of this git directory changed? A number that is another one then. Nothing
 * is read but inodes and the names of directories, so a hostile directory costs a moment at most,
 * and a lie about it only the agent's own work. -EOVERFLOW: there is too much to look at, which
 * counts as changed.
 */
#define GIT_STAMP_DIRS_MAX 4096
#define GIT_STAMP_ENTRIES_MAX 20000

int git_stamp(int dir, uint64_t *ret);

/*
 * The number of the private directory at its last import, in the record of its sandbox.
 * git_imported_is(): 1, 0 when something changed since, -ENOENT when no number was ever set.
 */
#define GIT_IMPORTED "git.stamp"
int git_imported_is(int record, int dir);
int git_imported_set(int record, uint64_t stamp);
