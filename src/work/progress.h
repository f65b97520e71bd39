#pragma once

#include "work/work.h"

/*
 * progress.txt: what iterations tell the next ones. New text goes to its end; the section
 * "## Codebase Patterns", to the next heading or rule, is its head, and may be edited.
 */
#define PROGRESS_HEAD_MAX (128 * KiB)

/*
 * put: what the agent was given; theirs: what it made of it; now: what the host has (another turn
 * may have added to it). *ret becomes `now` with what is new; the same bytes when nothing is.
 * true: something is new.
 */
bool progress_judge(const struct buf *put, const struct buf *theirs, const struct buf *now,
		    struct buf *ret, struct proposals *p);
