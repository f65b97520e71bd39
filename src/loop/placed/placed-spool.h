#pragma once

#include "base/err.h"
#include "base/json/json.h"

#include <sha256.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Results that came from a node and are not yet the loop's: LEASE.pack is what it sends, and
 * LEASE.json, once it has its name, says that the pack is whole and what its verdict is. A result is
 * acknowledged when both are on the disk, so a loop that is killed then finds them when it goes on.
 */
#define SPOOL_DIR "spool"
#define SPOOL_JSON_MAX (8 * MiB)
#define SPOOL_LEASE_LEN 32

struct spool {
	int dir;  /* of all entries */
	int pack; /* what came so far; -1: nothing did */
	uint64_t bytes;
	SHA256_CTX sum;
	char lease[SPOOL_LEASE_LEN + 1];
};

#define SPOOL_INIT                                                                                 \
	{                                                                                          \
		.dir = -1, .pack = -1                                                              \
	}

/* state: of the loop, not kept. */
int spool_open(struct spool *s, int state, const char *lease, struct err *err);
void spool_done(struct spool *s);
/* Adds bytes of the pack. */
int spool_add(struct spool *s, const void *p, size_t n, struct err *err);
/* The pack is whole: compares, and syncs it. -EPROTO: it is another one. */
int spool_pack_end(struct spool *s, uint64_t bytes, const char *sha256, struct err *err);
/* The pack from its beginning; the descriptor stays the spool's. */
int spool_pack(struct spool *s);
/* The pack was taken, or is of no use: the next one begins. */
int spool_pack_drop(struct spool *s, struct err *err);
/* The verdict is on the disk when this returns. */
int spool_put(struct spool *s, const json_t *verdict, struct err *err);
/* What an earlier loop acknowledged: -ENOENT where there is no entry of this lease. */
int spool_take(struct spool *s, json_t **ret, struct err *err);
/* Removes the entry of this lease. */
void spool_remove(struct spool *s);
/* Removes the entries of all leases but these (an object's keys). */
void spool_sweep(int state, const json_t *leases);
