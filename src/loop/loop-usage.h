#pragma once

#include "loop/state.h"
#include "record/places.h"

/*
 * Usage at providers as counted by the gateway, in the sandbox's own record, which nothing inside
 * can change. Without a gateway count (a provider reached in another way), the agent's own numbers
 * are used.
 */
struct loop_usage {
	uint64_t micro_usd;
	struct tokens tokens;
};

/* Reads the totals of the sandbox's lifetime; all are 0 without a record. */
void loop_usage_read(const struct places *p, const char *sandbox, struct loop_usage *ret);
/* Adds the usage since the last call to the state; returns true when there was any. */
bool loop_usage_take(struct loop_state *s, const struct loop_usage *m);
uint64_t tokens_all(const struct tokens *t);
