#pragma once

#include "base/err.h"
#include "base/json.h"

/*
 * The record of what happened in a sandbox: one JSON object a line, written by its supervisor
 * only. Each line carries a number, the time, and "chain": the SHA-256 over the chain of the line
 * before and this line's own text, so that nothing can be changed, dropped or moved unseen.
 */
#define EVENTS_HASH_LEN 64

struct events {
	int fd;
	uint64_t seq;
	char chain[EVENTS_HASH_LEN + 1];
};

/* Opens events.jsonl below dirfd and continues its chain. */
int events_open(int dirfd, struct events *ret, struct err *err);
void events_close(struct events *e);
/*
 * Adds one event; takes the object, whose members come after seq, time and type. A record that
 * cannot be written is reported once by the caller; the sandbox goes on.
 */
int events_add(struct events *e, const char *type, json_t *details);
