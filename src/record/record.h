#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/* What a record says of its sandbox's life, without asking its supervisor. */
struct record_facts {
	char *workspace; /* whose it is; NULL: it was never started */
	bool gone;	 /* the workspace is not there any more */
	uint64_t born;	 /* first start, seconds of the epoch; 0: never */
	uint64_t used;	 /* the last time anything happened in it; 0: never */
};

int record_look(const struct places *p, const char *name, struct record_facts *ret,
		struct err *err);
void record_done(struct record_facts *f);

/*
 * Bytes on disk of the whole record, home included. No link is followed and no other file system
 * entered; what the agent nested deeper or made more of than anyone counts is left out, and
 * *ret_partial says so.
 */
#define RECORD_DEPTH_MAX 128
#define RECORD_FILES_MAX 2000000
int record_size(const struct places *p, const char *name, uint64_t *ret, bool *ret_partial,
		struct err *err);

/* Live sandboxes of the same workspace but this one. */
int record_neighbours(const struct places *p, const char *name, const char *workspace,
		      struct strv *out, struct err *err);
