#pragma once

#include "loop/state.h"
#include "record/places.h"

/*
 * What was used at providers, as the gateway has counted it: the sandbox's own account, which
 * nothing inside can touch. Where there is none (a provider that is reached some other way), the
 * agent's own words are taken.
 */
struct loop_usage {
	uint64_t micro_usd;
	struct tokens tokens;
};

/* Of the sandbox's whole life; all 0 where there is no record of it. */
void loop_usage_read(const struct places *p, const char *sandbox, struct loop_usage *ret);
/* Adds to the state what is there more than was seen before; true: there was something. */
bool loop_usage_take(struct loop_state *s, const struct loop_usage *m);
uint64_t tokens_all(const struct tokens *t);
