#pragma once

/*
 * ROOM: events
 *
 * The event log, the proof that it is whole, and sums over it. Nothing here decides what an
 * event means.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "events/events-chain.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The record of what happened in a sandbox, as its supervisor writes it: one JSON object a line,
 * each with a number, the time, a type, and "chain", which depends on everything before (see
 * events-chain.h). docs/internals/events.md tells the whole.
 *
 * events.jsonl is the newest file. Once it is full it becomes events.1.jsonl and so on; the oldest
 * of EVENTS_OLD_MAX is dropped. The first record of a new file says where the chain came from and
 * what was used at providers up to there, so that whatever is left can be proved and summed.
 */
#define EVENTS_FILE "events.jsonl"
#define EVENTS_FILE_MAX (4 * MiB)
#define EVENTS_OLD_MAX 7
#define EVENTS_NAME_SIZE 32

struct events {
	int dir, fd, head;
	off_t size;	    /* of the file that is written */
	off_t max;	    /* EVENTS_FILE_MAX; tests have less */
	struct chain chain; /* of the last record */
	uint64_t first;	    /* number of the oldest record that is kept */
	uint64_t missed;    /* could not be written since the last one that was */
	bool torn;	    /* a write failed half-way */
};

#define EVENTS_INIT                                                                                \
	{                                                                                          \
		.dir = -1, .fd = -1, .head = -1                                                    \
	}

/*
 * Opens the log below dirfd and continues its chain. What a crash left (half a line, or less than
 * events.head says was there) stays, and a record says so. One writer at a time: the holder of the
 * live lock.
 */
int events_open(int dirfd, struct events *ret, struct err *err);
void events_close(struct events *e);
/*
 * Adds one event; takes the object, whose members come after seq, time and type. Long strings are
 * cut. A record that cannot be written is counted, and the next one that can says how many were
 * missed; the sandbox goes on.
 */
int events_add(struct events *e, const char *type, json_t *details);

/* "events.jsonl" for 0, "events.3.jsonl" for 3. */
const char *events_name(unsigned i, char ret[EVENTS_NAME_SIZE]);
