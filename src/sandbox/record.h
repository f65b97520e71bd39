#pragma once

#include "base/strv.h"
#include "sandbox/places.h"
#include "sandbox/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What can be told of a sandbox from its record, whether it runs or not. */
struct record {
	time_t created;
	time_t used;   /* the last event */
	uint64_t size; /* bytes on disk, home included */
	bool cut;      /* there is more: not everything was counted */
};

/* What is not there is 0. */
void record_read(const struct store_entry *e, struct record *ret);

/* Live sandboxes of the same workspace but this one. */
int record_neighbours(const struct places *p, const char *name, const char *workspace,
		      struct strv *out, struct err *err);

/*
 * `ralph prune`: the sandboxes whose workspace is gone and that were not used for older_s; live ones
 * never. A workspace that cannot be looked at is not gone.
 */
struct record_prune {
	struct strv names, workspaces; /* side by side */
};
int record_prunable(const struct places *p, uint64_t older_s, struct record_prune *ret,
		    struct err *err);
void record_prune_done(struct record_prune *r);
/* Is it still so? Asked once more before it is removed. */
bool record_is_orphan(const struct places *p, const char *name);
