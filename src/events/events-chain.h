#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The chain of an event log. A record is one line of JSON whose last member is "chain": the SHA-256
 * over the chain of the previous record (as hex) and this record's text without that member. So
 * every change, removal, insertion or move shows in all later records. A process that can write the
 * file can also compute a new chain: the chain proves that a log is complete, not who wrote it.
 */
#define CHAIN_HASH_LEN 64
#define EVENTS_LINE_MAX (128 * 1024) /* a longer line is not a record */

struct chain {
	uint64_t seq; /* of the last record; 0: no record yet */
	char hash[CHAIN_HASH_LEN + 1];
};

/* A record in the log, without its newline. */
struct chain_record {
	const char *text;
	size_t body; /* length before the chain member, which is last */
	uint64_t seq;
	char hash[CHAIN_HASH_LEN + 1]; /* hash that the record claims */
};

/* Returns false for a line that is no record. Only its outline is checked, not the JSON inside. */
bool chain_split(const char *line, size_t n, struct chain_record *ret);
/* Computes the chain of this record after `before`. */
void chain_of(const char *before, const char *body, size_t n, char ret[CHAIN_HASH_LEN + 1]);
bool chain_fits(const char *before, const struct chain_record *r);
/* Computes the SHA-256 of some bytes, as hex. */
void chain_hash(const void *p, size_t n, char ret[CHAIN_HASH_LEN + 1]);

/*
 * events.head: the end of the chain and the start of its kept part, in a separate file. It reveals
 * a log whose end was cut off or whose oldest file was removed. It is written after the record:
 * after a crash it may be one record behind, never ahead.
 */
#define HEAD_FILE "events.head"

struct head {
	struct chain last;
	uint64_t first; /* number of the oldest kept record; the log may begin earlier */
};

int head_open(int dirfd); /* for writing; created if missing */
int head_write(int fd, const struct head *h);
/* -ENOENT: no such file; -EINVAL: damaged. */
int head_read(int dirfd, struct head *ret);
