#pragma once

#include "transcript/out.h"
#include "transcript/transcript.h"

/* What may be chosen about a conversation that is written. */
struct tr_style {
	bool thinking;	   /* what the model thought, too */
	size_t result_max; /* bytes shown of a tool's result, and of one argument */
};

#define TR_RESULT_MAX_DEFAULT (4 * KiB)
#define TR_RESULT_MAX_LIMIT (1 * MiB)

/* What else stands in the front matter. */
struct tr_source {
	const char *agent, *file; /* file: as the user knows it */
	const char *hash;	  /* of its bytes, hex; NULL: none */
	uint64_t iterations;	  /* of a loop; 0: none */
	uint64_t scrubbed;
	const struct strv *links; /* files of its subagents, beside it */
};

/*
 * A format: begin() makes a writer that puts a conversation's items out, end() finishes it. The
 * front matter comes first in the file but is known last: head() writes it to an output of its own.
 */
struct tr_format {
	const char *name; /* "md" */
	struct tr_writer *(*begin)(struct tr_out *o, const struct tr_style *style);
	void (*end)(struct tr_writer *w);
	void (*head)(struct tr_out *o, const struct tr_head *h, const struct tr_source *s);
	void (*foot)(struct tr_out *o, const struct tr_source *s); /* NULL: nothing follows */
};

extern const struct tr_format tr_markdown, tr_json, tr_html;
const struct tr_format *tr_format_find(const char *name);

/* shared.c: what all of them do with an item */
typedef void tr_piece_fn(void *arg, const char *p, size_t n);
/* The text of an item, piece by piece; parts of an array one after the other. */
void tr_text_each(struct jtext text, tr_piece_fn *fn, void *arg);
/* At most max bytes of it into b; returns how many there are besides, about. */
size_t tr_text_cut(struct jtext text, struct buf *b, size_t max);
/* Arguments of a call for people: "key: value" a line, longer texts indented below their key. */
void tr_arguments(struct jtext args, struct buf *b, size_t max);
/* Codex hands arguments over as a string of JSON: what is in it, kept in b; else args. */
struct jtext tr_unwrapped(struct jtext args, struct buf *b);
/* "Bash: ls -l": the tool and what the call is about, on one line. */
void tr_call_title(struct jtext name, struct jtext args, struct buf *b);
