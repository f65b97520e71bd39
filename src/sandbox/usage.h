#pragma once

#include "base/err.h"
#include "sandbox/prices.h"

/*
 * What a sandbox has used at providers, as its event log says: one "usage" event for each answer
 * that told its numbers, with what it cost by the prices that held then.
 */
struct usage_event {
	const char *time; /* "2026-01-31T12:00:00.000Z" */
	const char *credential, *model;
	struct usage_tokens tokens;
	uint64_t micro_usd;
};

typedef void usage_fn(void *arg, const struct usage_event *e);
/* Each of events.jsonl below dirfd, oldest first; a log that is not there has none. */
int usage_each(int dirfd, usage_fn *fn, void *arg, struct err *err);

static inline uint64_t usage_all(const struct usage_tokens *t)
{
	return t->input + t->output + t->cache_read + t->cache_write;
}
