#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stddef.h>

/* Where agents keep their conversations, below a home that is the sandbox's: nothing in it is
 * followed out of it, and what is too much is left out. */
#define TR_FOUND_MAX 100000 /* conversations of one agent in one home */

/* Paths below the home, sorted. What cannot be read is left out. */
void tr_find(int home, const char *agent, struct strv *ret);
/* The conversations that subagents had in this one. */
void tr_find_subagents(int home, const char *agent, const char *conversation, struct strv *ret);
