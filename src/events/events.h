#pragma once

/*
 * ROOM: events
 *
 * The event log, the proof that it is complete, and sums over it. The meaning of an event is not
 * decided here.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "events/events-chain.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The event log of a sandbox, written by its supervisor: one JSON object per line, each with a
 * number, the time, a type, and "chain", which depends on all previous records (see
 * events-chain.h). docs/internals/events.md describes it in full.
 *
 * events.jsonl is the newest file. A full file becomes events.1.jsonl and so on; the oldest of
 * EVENTS_OLD_MAX is dropped. The first record of a new file gives the end of the previous chain and
 * the usage at providers so far, so that the remaining files can be verified and summed.
 */
#define EVENTS_FILE "events.jsonl"
#define EVENTS_FILE_MAX (4 * MiB)
#define EVENTS_OLD_MAX 7
#define EVENTS_NAME_SIZE 32

struct events {
	int dir, fd, head;
	off_t size;	    /* of the current file */
	off_t max;	    /* EVENTS_FILE_MAX; smaller in tests */
	struct chain chain; /* of the last record */
	uint64_t first;	    /* number of the oldest kept record */
	uint64_t missed;    /* failed writes since the last record */
	bool torn;	    /* the last write was partial */
};

#define EVENTS_INIT                                                                                \
	{                                                                                          \
		.dir = -1, .fd = -1, .head = -1                                                    \
	}

/*
 * Opens the log below dirfd and continues its chain. Damage from a crash (a partial line, or a log
 * shorter than events.head says) stays, and a record reports it. There is one writer at a time: the
 * holder of the live lock.
 */
int events_open(int dirfd, struct events *ret, struct err *err);
void events_close(struct events *e);
/*
 * Adds one event; takes the object, whose members come after seq, time and type. Long strings are
 * cut. A record that cannot be written is counted, and the next record gives the number of missed
 * ones; the sandbox continues.
 */
int events_add(struct events *e, const char *type, json_t *details);

/* Returns "events.jsonl" for 0, "events.3.jsonl" for 3. */
const char *events_name(unsigned i, char ret[EVENTS_NAME_SIZE]);
