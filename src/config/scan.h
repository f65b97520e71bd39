#pragma once

#include "config/keys.h"

/*
 * The one pass over a file's YAML, strict and driven by the table of keys: it gives each value as
 * text with its place; merge.c parses and checks the values.
 *
 * Refused here: bytes that are not UTF-8, NUL bytes (also escaped ones), several documents,
 * anchors, aliases, tags, unknown and duplicate keys, missing values, and a value of another kind
 * than its key takes. The shape bounds the nesting: no file gets deeper than the table does.
 */
#define CONFIG_LIST_MAX 1024 /* entries of one list in one file */

struct scan_value {
	unsigned line, column; /* from 1, in characters; line 0: not given */
	char *text;	       /* NULL for a list, and for an entry with fields, but for its name */
	struct scan_value *v; /* the entries of a list, or the fields in the order of their table */
	size_t n;
};

void scan_value_done(struct scan_value *v);

/*
 * values has KEY_N zeroed members; the caller frees them, after a failure too. rows has the old
 * names of keys; notices gets a line per key under such a one. name is the file's, for messages.
 */
int scan_yaml(const char *name, const char *text, size_t len, const struct key *rows,
	      struct scan_value *values, struct strv *notices, struct err *err);
