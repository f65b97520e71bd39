#pragma once

#include "agent/agent.h"
#include "agent/result.h"
#include "base/json/jpick.h"

/* For the files of the rows, row-*.c, and for the table of them. */
#define AGENT(x) extern const struct agent agent_##x;
#include "agent/agents.def"
#undef AGENT

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})
#define NO_SEEDS ((const struct agent_seed[]){{0}})
#define NO_IDENTITY ((const struct agent_identity[]){{0}})

#define AGENT_WORD_MAX 128 /* of names and identifiers */

/* Takes a string of at most max bytes in the place of *to; anything else leaves *to as it is. */
void agent_take(char **to, struct jtext t, size_t max);
/* The text of a tool's result: a string, or the first of its blocks that has one. */
struct jtext agent_block_text(struct jtext content);
/* "0.004350000000000001" dollars: less than a millionth is a rounding error. */
uint64_t agent_micro_usd(struct jtext t);
