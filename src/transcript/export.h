#pragma once

#include "base/json/json.h"
#include "transcript/writers.h"

/*
 * Exports the conversations of one home to a directory of the user:
 * conversations/<time>/<slug>.<format>, with subagents next to their parent.
 *
 * The input comes from the sandbox and is hostile. The output never goes through a symbolic link,
 * and each file appears whole or not at all. Unchanged conversations are skipped: `known` records
 * what was exported from where, and is updated.
 */
#define TR_DIR "conversations" /* below out; the caller has made it */

struct tr_job {
	int home, out;
	const char *agent;
	const struct tr_format *format;
	struct tr_style style;
	const struct known *known_values; /* secrets to take out; NULL: only by their shape */
	uint64_t since_ms;		  /* only conversations changed after this; 0: all */
	json_t *known;			  /* an object */
	int names;			  /* live/export-names.h; 0: none */
	/* SHA-256 of a file as hex, fed by bytes(); NULL: none. */
	const struct tr_hash *hash;
};

struct tr_hash {
	void *(*begin)(void);
	void (*bytes)(void *state, const void *p, size_t n);
	char *(*end)(void *state); /* frees the state */
};

struct tr_tally {
	uint64_t written, unchanged, empty, failed, skipped_records, scrubbed, bytes;
};

/* Returns 0, or the first error; the remaining conversations are written all the same. */
int tr_export(const struct tr_job *job, struct tr_tally *tally, struct err *err);
