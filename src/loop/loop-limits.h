#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Limits of a loop, checked against its counters: pure. */
struct loop_limits {
	uint64_t iterations; /* 0: no limit, for every field */
	uint64_t micro_usd, duration_ms;
	uint64_t max_stuck, max_attempts;
};

struct loop_used {
	uint64_t iterations, micro_usd, active_ms;
};

/* Returns NULL while the loop may continue, else the limit that was reached, to be put in a
 * sentence: "10 iterations". The caller frees it. */
char *limits_reached(const struct loop_limits *l, const struct loop_used *u);

/* Returns the remainder of each limit; 0 for a field without a limit. */
struct loop_used limits_left(const struct loop_limits *l, const struct loop_used *u);

/*
 * Until when a rate limit is waited for, in seconds since 1970: the announced end and up to a tenth
 * of the wait, at most a minute, so that not all loops wake at once; where none was announced, half
 * an hour. An end that is not within eight days is not believed. `random` is any number.
 */
#define WAIT_UNKNOWN_S 1800
#define WAIT_JITTER_S 60
#define WAIT_MAX_S (8 * 86400)
uint64_t limits_wait_until(uint64_t now, uint64_t resets_at, uint64_t random);

/*
 * Until when an outage is waited for, in seconds since 1970: two seconds after the first iteration
 * that found it, twice as long after each further one, up to OUTAGE_STEP_S, and up to a tenth more. 0:
 * it has lasted for max_s (0: any time) since `since`; the last wait is cut to end then.
 */
#define OUTAGE_FIRST_S 2
#define OUTAGE_STEP_S 600
uint64_t limits_outage_until(uint64_t now, uint64_t since, uint64_t tries, uint64_t max_s,
			     uint64_t random);

/* True when the weekly reserve begins. Both values are percentages; reserve 0 means no reserve. */
bool limits_reserve_reached(uint64_t reserve, uint64_t used);
