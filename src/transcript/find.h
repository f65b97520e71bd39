#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stddef.h>

/* Finds the conversations of agents in a sandbox's home. No link leads out of the home, and
 * results beyond the limit are left out. */
#define TR_FOUND_MAX 100000 /* conversations of one agent in one home */

/* Returns paths relative to the home, sorted. Unreadable directories are skipped. */
void tr_find(int home, const char *agent, struct strv *ret);
/* Returns the conversations of this conversation's subagents. */
void tr_find_subagents(int home, const char *agent, const char *conversation, struct strv *ret);
