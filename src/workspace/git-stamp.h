#pragma once

#include <stdint.h>
#include <time.h>

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
 * The same of everything that a private git directory is made from: settings, hooks and the index
 * as well. The user's own directories, of a repository without submodules, borrowed objects or an
 * operation in progress. *ret_newest: the latest change that is part of it, in ns. A number that was taken
 * less than GIT_STAMP_TICK_NS after that may miss a change.
 */
#define GIT_STAMP_TICK_NS 20000000 /* files are dated by a clock that ticks every 1 to 10 ms */

int git_stamp_source(int dir, int common, uint64_t *ret, int64_t *ret_newest);
int64_t git_stamp_ns(const struct timespec *t);

/*
 * The number of the private directory at its last import, in the record of its sandbox.
 * git_imported_is(): 1, 0 when something changed since, -ENOENT when no number was ever set.
 */
#define GIT_IMPORTED "git.stamp"
int git_imported_is(int record, int dir);
int git_imported_set(int record, uint64_t stamp);
