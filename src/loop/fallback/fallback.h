#pragma once

/*
 * ROOM: loop/fallback
 *
 * Other agents that go on when the provider of the loop's own is not available, or its credential
 * ended.
 */

#include "loop/loop.h"

/*
 * DOC: Theory of operation
 *
 * The loop has a list of agents: its own, and those of --fallback. An agent whose provider's limit or
 * outage lasts longer than --fallback-after, or whose credential ended, is away until a time. The
 * first of the list that is not away does the next iteration, so the loop comes back to its own agent
 * when that time is over. When all are away, the loop waits as it does without a fallback.
 *
 * Each agent has its own sandbox and home. state.agents has {"now": name, "away": {name: seconds since
 * 1970}, "begun": {name: true}}: a loop that was killed goes on with the agent that worked.
 */
#define FALLBACK_MAX 8 /* agents of the list */

/* Reads the list, and goes on with the agent that worked before a kill. */
int fallback_open(struct loop *l, struct err *err);
/* Fails with exit code 8 when one of the other agents has no credential. */
int fallback_check(struct loop *l, struct err *err);
void fallback_free(struct loop *l);

/* After an iteration that its provider ended: true when another agent goes on at once. */
bool fallback_takes_over(struct loop *l, const struct judgement *j);
/* Before an iteration: comes back to an agent that is not away any more. */
void fallback_return(struct loop *l);
/* Returns the end of a wait for an outage: not later than another agent could go on. */
uint64_t fallback_cut(const struct loop *l, uint64_t until);
/* After the sandbox was started: its home is this loop's from now on. */
void fallback_begun(struct loop *l);

/* fallback-list.c, pure: the first agent that is not away; n: all are. */
size_t fallback_first(const uint64_t *away, size_t n, uint64_t now);
/* Until when an agent is away after this verdict; 0: it is waited for. `since`: of the outage. */
struct fallback_facts {
	enum verdict verdict;
	uint64_t now, resets_at, since, after; /* seconds */
	bool no_wait;
};
uint64_t fallback_until(const struct fallback_facts *f);
