#pragma once

#include "config/keys.h"

/*
 * The strict pass over a file's YAML before libcyaml reads it. libcyaml neither notices a key that
 * is given twice nor says where a value stood, so this pass checks the shape against the table of
 * keys and remembers the place of every value.
 *
 * Refused here: what is not UTF-8, NUL bytes (also escaped ones), several documents, anchors,
 * aliases, tags, unknown and duplicate keys, missing values, and a value of another kind than its
 * key takes. The shape bounds the nesting: no file gets deeper than the table does.
 */
#define CONFIG_LIST_MAX 1024 /* entries of one list in one file */

struct mark {
	uint64_t id;
	unsigned line, column; /* from 1, in characters */
};

struct marks {
	struct mark *v;
	size_t n, cap;
};

/* The place of a value: of a key, of its entry, of that entry's field, of that field's entry. */
#define MARK_NONE -1
uint64_t mark_id(enum key_id key, int item, int field, int sub);
/* The mark of an id that was scanned; line 0 when there is none. */
struct mark marks_get(const struct marks *m, uint64_t id);
void marks_done(struct marks *m);

/* *ret_empty: there is no document, or nothing in it. name is the file's, for messages. */
int scan_yaml(const char *name, const char *text, size_t len, struct marks *ret, bool *ret_empty,
	      struct err *err);
