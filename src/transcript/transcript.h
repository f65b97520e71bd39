#pragma once

/*
 * ROOM: transcript
 *
 * Conversations of agents: readers of their files, and writers of ralph's formats. All input is
 * hostile; all output is filtered for secrets.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/json/jpick.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Conversations between an agent and its user, read from the agent's own files.
 *
 * DOC: Theory of operation
 *
 * A reader (one per agent, read-NAME.c) gets one record of the file after the other. It hands the
 * items of each record to a writer (Markdown, JSON, HTML), which writes them at once. Only the
 * current record and the data for the front matter are kept, so the length of a conversation does
 * not matter. Items point into the record: a text is a JSON string there, decoded only while it is
 * written.
 *
 * The files come from the sandbox and are hostile. A record that is cut, unknown, or longer than
 * TR_RECORD_MAX is skipped and counted.
 */
#define TR_RECORD_MAX (24 * MiB)

enum tr_kind {
	TR_USER,
	TR_ASSISTANT,
	TR_THINKING,
	TR_CALL,   /* of a tool: name, id, text: its arguments, any JSON */
	TR_RESULT, /* of the call with that id */
	TR_NOTE,   /* an event of the conversation: note says which */
	TR_KIND_N,
};

struct tr_item {
	enum tr_kind kind;
	/* A string, or an array of parts that have a "text"; anything else is shown as it is. */
	struct jtext text;
	struct jtext time; /* RFC 3339 in a string, or nothing */
	struct jtext name, id;
	const char *note;
	bool error;
};

struct tr_tokens {
	uint64_t input, output, cache_read, cache_write;
};

#define TR_WORD_MAX 256 /* of a value in the front matter; longer ones are cut */
#define TR_IDS 64	/* latest messages whose usage was counted */

/* Data for the front matter, collected while reading. */
struct tr_head {
	char *model, *id, *workspace, *branch, *version;
	char *title;  /* first words of the user; the file is named after them */
	char *parent; /* for a subagent: its parent conversation */
	char *start, *end;
	struct tr_tokens tokens;
	uint64_t micro_usd; /* reported by the agent; 0: unknown */
	uint64_t records, skipped, turns;
};

struct tr_writer {
	void (*item)(struct tr_writer *w, const struct tr_item *item);
};

/* A conversation that is being read. */
struct tr {
	struct tr_head head;
	struct tr_writer *writer;
	/* Called with every byte of the file, in order, once, to hash it; may be NULL. */
	void (*bytes)(void *arg, const void *p, size_t n);
	void *bytes_arg;
	bool by_user;		  /* the current message is the user's */
	uint64_t counted[TR_IDS]; /* hashes of ids */
	size_t n_counted;
	struct tr_place
		*places; /* by hash of the id: which record is its last; see tr_last_place() */
	size_t n_places; /* a power of two, or 0 */
	size_t places_used;
};

struct tr_reader {
	const char *agent;
	const char *files; /* pattern of its conversations below HOME; '*' is within a name */
	bool subagents;	   /* theirs lie beside a conversation, see tr_find_subagents() */
	/* Returns false for an unknown record. */
	bool (*record)(struct tr *t, struct jtext record);
	bool (*prepare)(struct tr *t, struct jtext record); /* first pass; may be NULL */
};

const struct tr_reader *tr_reader_find(const char *agent); /* NULL: none */

/* Reads all records of fd, from its current position. Bad records are counted and are no error:
 * only reading itself can fail. */
int tr_read(struct tr *t, const struct tr_reader *r, int fd, struct err *err);
void tr_done(struct tr *t);

/* Functions for readers. */
void tr_say(struct tr *t, const struct tr_item *item);
void tr_set(char **field, struct jtext value);	  /* only if it has no value yet */
void tr_change(char **field, struct jtext value); /* replaces the value */
/* Records the last position of an id, for files where a later record replaces an earlier one. */
void tr_last_place(struct tr *t, struct jtext id);
bool tr_is_last_place(const struct tr *t, struct jtext id);
bool tr_count_once(struct tr *t, struct jtext id); /* false: counted before */
void tr_time(struct tr *t, struct jtext time);
