#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/* Facts about a sandbox from its record, without asking its supervisor. */
struct record_facts {
	char *workspace; /* the owning workspace; NULL: never started */
	bool gone;	 /* the workspace no longer exists */
	uint64_t born;	 /* first start, seconds of the epoch; 0: never */
	uint64_t used;	 /* the last activity; 0: never */
};

int record_look(const struct places *p, const char *name, struct record_facts *ret,
		struct err *err);
void record_done(struct record_facts *f);

/*
 * Returns the size on disk of the whole record with its home, which it may share. Links are not followed, and other
 * file systems are not entered. Entries that are too deep or too many are left out, and
 * *ret_partial is set.
 */
#define RECORD_DEPTH_MAX 128
#define RECORD_FILES_MAX 2000000
int record_size(const struct places *p, const char *name, uint64_t *ret, bool *ret_partial,
		struct err *err);

/* Lists the other live sandboxes of the same workspace. */
int record_same_workspace(const struct places *p, const char *name, const char *workspace,
			  struct strv *out, struct err *err);
