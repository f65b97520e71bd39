#pragma once

#include "base/err.h"
#include "events/prices.h"

#include "base/json/json.h"

/*
 * Usage of a sandbox at providers, from its event log: one "usage" event for each answer with token
 * counts, with its cost at the prices of that time. For dropped log files there are sums per day.
 */
struct usage_event {
	const char *time; /* "2026-01-31T12:00:00.000Z", or "2026-01-31" for a sum */
	const char *credential, *model;
	struct usage_tokens tokens;
	uint64_t micro_usd;
	uint64_t requests; /* 1, or the number in a sum */
};

typedef void usage_fn(void *arg, const struct usage_event *e);
/* Passes each usage event of the log below dirfd, oldest first; a missing log has none. */
int usage_each(int dirfd, usage_fn *fn, void *arg, struct err *err);

/* Returns the usage summed by day, credential and model, for the first record of a new log file.
 * There are at most USAGE_CARRY_MAX rows: further ones are added to the last. */
#define USAGE_CARRY_MAX 256
json_t *usage_carry(int dirfd);

static inline uint64_t usage_all(const struct usage_tokens *t)
{
	return t->input + t->output + t->cache_read + t->cache_write;
}
