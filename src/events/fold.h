#pragma once

#include "wire/gateway-proto.h"

/*
 * DOC: Theory of operation
 *
 * Decisions of the gateway on their way to the event log. What is inside a sandbox can ask for a
 * refused host a thousand times a second, and must be able neither to fill the disk with it nor to
 * push out of a bounded log what it did before.
 *
 * A refusal is written at once. The same one again within a window is only counted; at its end one
 * record tells how often and when first and last. While it goes on the window doubles, up to
 * FOLD_WINDOW_MAX_MS. Different ones, and what is allowed, take from a supply of records that
 * refills slowly; when it is used up, they are counted by verdict, host and port, and where even
 * those are too many, as "(many)".
 */
#define FOLD_WINDOW_MS 10000
#define FOLD_WINDOW_MAX_MS (640 * 1000)
#define FOLD_SLOTS 64	/* kinds that are counted at once, the "(many)" of each verdict besides */
#define FOLD_COARSE 8	/* of them, hosts that are counted because the supply is used up */
#define FOLD_BURST 4096 /* records at once */
#define FOLD_REFILL_MS 1000 /* one more in that time */

/* To be written: with count > 1 it stands for several, between first_ms and last_ms. */
struct folded {
	struct gw_event e;
	uint64_t first_ms, last_ms;
};

typedef void fold_fn(void *arg, const struct folded *f);

struct fold;
/* all: what is allowed is counted too when it comes again, not only what is refused. */
struct fold *fold_new(fold_fn *fn, void *arg, bool all);
struct fold *fold_free(struct fold *f); /* what is counted and not written is lost */
/* now: of a clock that does not jump, in milliseconds. */
void fold_add(struct fold *f, const struct gw_event *e, uint64_t now);
/* Writes what is due, or everything. */
void fold_flush(struct fold *f, uint64_t now, bool all);
/* When fold_flush() has something to do next; 0: never. */
uint64_t fold_due(const struct fold *f);
