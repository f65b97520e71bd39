#pragma once

#include "base/strv.h"
#include "transcript/out.h"
#include "transcript/transcript.h"

/* Options for writing a conversation. */
struct tr_style {
	bool thinking;	   /* include the model's thinking */
	size_t result_max; /* bytes shown of a tool's result, and of one argument */
};

#define TR_RESULT_MAX_DEFAULT (4 * KiB)
#define TR_RESULT_MAX_LIMIT (1 * MiB)

/* Further data for the front matter. */
struct tr_source {
	const char *agent, *file; /* file: path shown to the user */
	const char *hash;	  /* of its bytes, hex; NULL: none */
	uint64_t iterations;	  /* of a loop; 0: none */
	uint64_t scrubbed;
	const struct strv *links; /* files of its subagents, in the same directory */
};

/*
 * A format: begin() makes a writer for a conversation's items, end() finishes it. The front matter
 * is first in the file but known last, so head() writes it to a separate output.
 */
struct tr_format {
	const char *name; /* "md" */
	struct tr_writer *(*begin)(struct tr_out *o, const struct tr_style *style);
	void (*end)(struct tr_writer *w);
	void (*head)(struct tr_out *o, const struct tr_head *h, const struct tr_source *s);
	void (*foot)(struct tr_out *o, const struct tr_source *s); /* NULL: no foot */
};

extern const struct tr_format tr_markdown, tr_json, tr_html;
const struct tr_format *tr_format_find(const char *name);

/* shared.c: functions that all formats use for an item; none gives a text that was not filtered */
/* Passes the text of an item in pieces; parts of an array one after the other. */
void tr_text(struct tr_out *o, struct jtext text, tr_piece_fn *fn, void *arg);
/* Appends at most max bytes of the text to b; returns about how many more there are. */
size_t tr_text_cut(struct tr_out *o, struct jtext text, struct buf *b, size_t max);
/* Formats the arguments of a call: "key: value" per line, longer texts indented below their key. */
void tr_arguments(struct tr_out *o, struct jtext args, struct buf *b, size_t max);
/* Codex passes arguments as JSON in a string: returns its content, kept in b; else args. */
struct jtext tr_unwrapped(struct jtext args, struct buf *b);
/* Writes a title for a call on one line, the tool and its subject: "Bash: ls -l". */
void tr_call_title(struct tr_out *o, struct jtext name, struct jtext args, struct buf *b);
