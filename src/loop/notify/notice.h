#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The events of a loop that the user wants to hear of while nobody watches: pure. */
enum notice { NOTICE_DONE, NOTICE_STUCK, NOTICE_NEEDS_YOU, NOTICE_BUDGET, NOTICE_OUTAGE, NOTICE_N };

/* Returns the word for programs: "needs-you". */
const char *notice_name(enum notice n);
/* Returns the words for people: "needs you". */
const char *notice_title(enum notice n);

/* Returns the event of a loop that ended with this exit code; NOTICE_N: none, the user ended it. */
enum notice notice_of_exit(int code);

#define NOTICE_OUTAGE_S (15 * 60)
struct notice_facts {
	uint64_t spent, limit; /* micro-dollars; limit 0: none */
	uint64_t outage, now;  /* seconds since 1970; outage 0: the provider is available */
};
/*
 * Returns the events that have come up since the last call, as bits. *told holds those that still
 * last: each is returned once, and again when it has ended and come back.
 */
uint64_t notices_due(const struct notice_facts *f, uint64_t *told);
