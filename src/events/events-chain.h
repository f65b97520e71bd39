#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The chain of an event log. A record is one line of JSON whose last member is "chain": the SHA-256
 * over the chain of the record before (as hex) and this record's text without that member. So
 * nothing can be changed, dropped, put in or moved without every later record showing it. Who can
 * write the file can also compute a new chain: it proves that a log is whole, not who wrote it.
 */
#define CHAIN_HASH_LEN 64
#define EVENTS_LINE_MAX (128 * 1024) /* a longer line is none of ours */

struct chain {
	uint64_t seq; /* of the last record; 0: there is none yet */
	char hash[CHAIN_HASH_LEN + 1];
};

/* A record as it lies in the log, without its newline. */
struct chain_record {
	const char *text;
	size_t body; /* so much of it is before the chain, which ends it together with '}' */
	uint64_t seq;
	char hash[CHAIN_HASH_LEN + 1]; /* as it claims */
};

/* false: it is no record. Only its outline is looked at, not the JSON between. */
bool chain_split(const char *line, size_t n, struct chain_record *ret);
/* What the chain of this record must be behind `before`. */
void chain_of(const char *before, const char *body, size_t n, char ret[CHAIN_HASH_LEN + 1]);
bool chain_fits(const char *before, const struct chain_record *r);
/* SHA-256 of some bytes, as hex. */
void chain_hash(const void *p, size_t n, char ret[CHAIN_HASH_LEN + 1]);

/*
 * events.head: where the chain ends and where what is kept of it begins, in a file of its own, so
 * that a log whose end was cut off, or whose oldest file was taken away, is not mistaken for whole.
 * It is written after the record: behind a crash it may be one behind, never ahead.
 */
#define HEAD_FILE "events.head"

struct head {
	struct chain last;
	uint64_t first; /* number of the oldest record that is kept; the log may begin earlier */
};

int head_open(int dirfd); /* for writing; it is made where there is none */
int head_write(int fd, const struct head *h);
/* -ENOENT: there is none; -EINVAL: it is damaged. */
int head_read(int dirfd, struct head *ret);
