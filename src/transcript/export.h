#pragma once

#include "base/json/json.h"
#include "transcript/writers.h"

/*
 * Conversations of one home into a directory of the user's:
 * conversations/<time>/<slug>.<format>, subagents beside the one they belong to.
 *
 * Both ends are careful. What is read is the sandbox's; what is written never goes through a
 * link and appears whole or not at all. What has not changed since the last time is left alone:
 * `known` says what was exported from where, and is brought up to date.
 */
#define TR_DIR "conversations" /* below out; the caller has made it */

struct tr_job {
	int home, out;
	const char *agent;
	const struct tr_format *format;
	struct tr_style style;
	const struct strv *values; /* secrets to take out; NULL: only by their shape */
	uint64_t since_ms;	   /* only what was changed after this; 0: everything */
	json_t *known;		   /* an object */
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

/* 0, or the first thing that kept anything from being written; what can be written is. */
int tr_export(const struct tr_job *job, struct tr_tally *tally, struct err *err);
