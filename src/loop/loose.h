#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct loop;

/*
 * DOC: Theory of operation
 *
 * Verification runs in the working tree, as that has what a build needs: installed modules,
 * compiled objects, all that is ignored. So what else lies there and is in no commit must not be
 * what made it pass: a file that the agent forgot to add would be missing for everybody else.
 *
 * A tree is clean when the loop begins, so every file that git neither knows nor ignores is the
 * agent's, but for those that the verify commands make themselves: from a checkout they would be
 * made again. state.loose has both: "left", what lay there when verification began, and "made",
 * what was there afterwards in addition. "open" is true in between; a verification that was cut
 * off is made again with the "left" of the first one.
 */
int loose_before(struct loop *l, struct err *err);
int loose_after(struct loop *l, struct err *err);

/* True when everything that was verified is committed. Uncommitted files are shown, and added to
 * `why` for the next prompt. When the check itself fails, the answer is false. */
bool loose_none(struct loop *l, struct buf *why);
