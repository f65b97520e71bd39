#pragma once

#include "work/work.h"

/*
 * progress.txt: notes from one iteration to the next. New text is appended. The section "##
 * Codebase Patterns", up to the next heading or rule, is the head, and may be edited.
 */
#define PROGRESS_HEAD_MAX (128 * KiB)

/*
 * put: the text that the agent was given; theirs: the agent's version; now: the host's version, to
 * which another turn may have added. *ret becomes `now` with the new text. Returns true when there
 * is new text.
 */
bool progress_judge(const struct buf *put, const struct buf *theirs, const struct buf *now,
		    struct buf *ret, struct proposals *p);
