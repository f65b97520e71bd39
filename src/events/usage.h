#pragma once

#include "base/err.h"
#include "events/prices.h"

#include "base/json/json.h"

/*
 * What a sandbox has used at providers, as its event log says: one "usage" event for each answer
 * that told its numbers, with what it cost by the prices that held then. Of files of the log that
 * are gone there are the sums per day.
 */
struct usage_event {
	const char *time; /* "2026-01-31T12:00:00.000Z", or of a sum "2026-01-31" */
	const char *credential, *model;
	struct usage_tokens tokens;
	uint64_t micro_usd;
	uint64_t requests; /* 1, or of a sum how many */
};

typedef void usage_fn(void *arg, const struct usage_event *e);
/* Each of the log below dirfd, oldest first; a log that is not there has none. */
int usage_each(int dirfd, usage_fn *fn, void *arg, struct err *err);

/* All of it summed by day, credential and model, for the first record of a new file of the log.
 * Never more rows than USAGE_CARRY_MAX: what does not fit is added to the last. */
#define USAGE_CARRY_MAX 256
json_t *usage_carry(int dirfd);

static inline uint64_t usage_all(const struct usage_tokens *t)
{
	return t->input + t->output + t->cache_read + t->cache_write;
}
