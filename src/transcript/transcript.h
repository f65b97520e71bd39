#pragma once

/*
 * ROOM: transcript
 *
 * Conversations of agents: readers of their files, writers of ours. Everything read is hostile;
 * nothing leaves unfiltered.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/json/jpick.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What an agent and its user said to each other, read from the agent's own files.
 *
 * DOC: Theory of operation
 *
 * A reader (one per agent, read-NAME.c) is given one record after the other, as it stands in the
 * file, and says of each what was said: it hands items to a writer (Markdown, JSON, HTML), which
 * puts them out at once. Nothing is kept but the record in hand and what the front matter needs,
 * so the length of a conversation does not matter. Items point into the record: a text is a JSON
 * string there, undone only as far as it is written.
 *
 * The files are the sandbox's: hostile. A record that is torn, unknown, or longer than
 * TR_RECORD_MAX is skipped and counted.
 */
#define TR_RECORD_MAX (24 * MiB)

enum tr_kind {
	TR_USER,
	TR_ASSISTANT,
	TR_THINKING,
	TR_CALL,   /* of a tool: name, id, text: its arguments, any JSON */
	TR_RESULT, /* of the call with that id */
	TR_NOTE,   /* something happened to the conversation: note says what */
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

#define TR_WORD_MAX 256 /* of what the front matter says; longer is cut */
#define TR_IDS 64	/* messages whose usage was counted, the latest ones */

/* What the front matter says, gathered on the way. */
struct tr_head {
	char *model, *id, *workspace, *branch, *version;
	char *title;  /* the first words of the user: the file is called after them */
	char *parent; /* a subagent: the conversation it belongs to */
	char *start, *end;
	struct tr_tokens tokens;
	uint64_t micro_usd; /* as the agent says; 0: it does not */
	uint64_t records, skipped, turns;
};

struct tr_writer {
	void (*item)(struct tr_writer *w, const struct tr_item *item);
};

/* One conversation that is being read. */
struct tr {
	struct tr_head head;
	struct tr_writer *writer;
	/* Sees every byte of the file, in order, once; NULL: nobody. For a hash of it. */
	void (*bytes)(void *arg, const void *p, size_t n);
	void *bytes_arg;
	bool by_user;		  /* the message whose parts follow is the user's */
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
	/* false: it is no record of this kind, or one that nobody knows. */
	bool (*record)(struct tr *t, struct jtext record);
	bool (*prepare)(struct tr *t, struct jtext record); /* NULL, or a first reading of all */
};

const struct tr_reader *tr_reader_find(const char *agent); /* NULL: none */

/* Reads all records of fd, from where it stands. What is wrong with them is counted, not returned:
 * only reading itself can fail. */
int tr_read(struct tr *t, const struct tr_reader *r, int fd, struct err *err);
void tr_done(struct tr *t);

/* For readers. */
void tr_say(struct tr *t, const struct tr_item *item);
void tr_set(char **field, struct jtext value);	  /* unless it has a value */
void tr_change(char **field, struct jtext value); /* whatever it had */
/* For files where a later record replaces an earlier one of the same id. */
void tr_last_place(struct tr *t, struct jtext id);
bool tr_is_last_place(const struct tr *t, struct jtext id);
bool tr_count_once(struct tr *t, struct jtext id); /* false: counted before */
void tr_time(struct tr *t, struct jtext time);
