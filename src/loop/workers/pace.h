#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How many workers a provider takes. One that meets a limit meets it for all: no iteration begins while it
 * holds, and half as many workers run from then on. Each quiet PACE_QUIET_MS behind it adds one. Pure: times are those of
 * now_ms().
 */
#define PACE_QUIET_MS (10 * 60 * 1000)
#define PACE_ONCE_MS (60 * 1000) /* limits that several workers meet within that time are one */

struct pace {
	uint64_t until;	  /* the limit holds; 0: none was met */
	uint64_t changed; /* when `most` was, or the last limit ended */
	size_t most;	  /* workers at once; 0: as many as there are slots */
};

/* A worker met a limit that holds for that time; 0: nobody knows how long. True: `most` is less than
 * before. */
bool pace_limited(struct pace *p, uint64_t now, uint64_t for_ms, size_t running);
/* For how long no iteration begins. */
uint64_t pace_holds(const struct pace *p, uint64_t now);
/* How many of these slots are used now: while a limit holds, by one worker that waits. */
size_t pace_slots(struct pace *p, uint64_t now, size_t slots);
/* In which time that may change by itself; 0: it does not. */
uint64_t pace_next(const struct pace *p, uint64_t now);
