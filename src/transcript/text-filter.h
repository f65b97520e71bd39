#pragma once

#include "base/buf.h"
#include "base/text/known.h"

/*
 * Takes secrets out of a text: keys by what vendors begin them with, private keys, and values that
 * are known by their hashes. A filter works on one text as it was said, before anything is escaped,
 * indented or cut, and what it leaves goes to a function that does that. Nothing of one text acts on
 * the next: a text can hide nothing but itself.
 */
typedef void tr_piece_fn(void *arg, const char *p, size_t n);

struct tr_filter {
	const struct known *known; /* NULL: none */
	struct buf b;
	tr_piece_fn *to;
	void *arg;
	uint64_t removed;
};

/* How long a text of n bytes may become: the mark of a removal is longer than a short secret. */
#define TR_FILTERED(n) (3 * (n))

void tr_filter_init(struct tr_filter *f, const struct known *known);
void tr_filter_done(struct tr_filter *f);

/* A text: begin, its pieces, end. */
void tr_filter_begin(struct tr_filter *f, tr_piece_fn *to, void *arg);
void tr_filter_put(void *filter, const char *p, size_t n); /* a tr_piece_fn */
void tr_filter_end(struct tr_filter *f);

/* A short text as a whole; the caller frees it. */
char *tr_filter_string(struct tr_filter *f, const char *s);
/* How much of the end of a text that was cut, then filtered, may be a secret's beginning. */
size_t tr_filter_tail(const struct tr_filter *f, const char *p, size_t n);
