#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct loop;

/*
 * DOC: Theory of operation
 *
 * Verification runs in the working tree, which has what a build needs: installed modules, compiled
 * objects, all ignored files. But other uncommitted files there must not be the reason why the
 * checks pass: a file that the agent forgot to add would be missing for everybody else.
 *
 * The tree is clean when the loop begins. So every untracked file that is not ignored is the
 * agent's, except for files that the verify commands create: a fresh checkout would create them
 * again. state.loose has both lists: "left", the files when verification began, and "made", the
 * files that verification added. "open" is true in between; an interrupted verification is repeated
 * with the "left" of the first one.
 */
int loose_before(struct loop *l, struct err *err);
int loose_after(struct loop *l, struct err *err);

/* True when everything that was verified is committed. Uncommitted files are shown, and added to
 * `why` for the next prompt. When the check itself fails, the answer is false. */
bool loose_none(struct loop *l, struct buf *why);
/* True when something is not committed, or that cannot be told. */
bool loose_any(struct loop *l);
