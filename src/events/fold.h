#pragma once

#include "wire/gateway-proto.h"

/*
 * DOC: Theory of operation
 *
 * Combines decisions of the gateway on their way to the event log. Code in a sandbox can request a
 * refused host a thousand times a second. It must not be able to fill the disk, nor to push its
 * earlier actions out of the bounded log.
 *
 * A refusal is written at once. The same refusal within a window is only counted; at the end of the
 * window, one record gives the count and the first and last time. While it continues the window
 * doubles, up to FOLD_WINDOW_MAX_MS. Different refusals, and allowed requests, draw from a supply
 * of records that refills slowly. When the supply is used up, they are counted by verdict, host and
 * port, and if there are too many of those, as "(many)".
 */
#define FOLD_WINDOW_MS 10000
#define FOLD_WINDOW_MAX_MS (640 * 1000)
#define FOLD_SLOTS 64	    /* kinds counted at once, besides "(many)" of each verdict */
#define FOLD_COARSE 8	    /* slots for hosts that are counted while the supply is used up */
#define FOLD_BURST 4096	    /* records at once */
#define FOLD_REFILL_MS 1000 /* time to refill one record */

/* A record to write: with count > 1 it stands for several, between first_ms and last_ms. */
struct folded {
	struct gw_event e;
	uint64_t first_ms, last_ms;
};

typedef void fold_fn(void *arg, const struct folded *f);

struct fold;
/* all: repeated allowed requests are folded too, not only refused ones. */
struct fold *fold_new(fold_fn *fn, void *arg, bool all);
struct fold *fold_free(struct fold *f); /* counts that were not written are lost */
/* now: milliseconds of a monotonic clock. */
void fold_add(struct fold *f, const struct gw_event *e, uint64_t now);
/* Writes the due records, or all of them. */
void fold_flush(struct fold *f, uint64_t now, bool all);
/* Returns the time of the next fold_flush(); 0: none. */
uint64_t fold_due(const struct fold *f);
