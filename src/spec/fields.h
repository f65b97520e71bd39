#pragma once

#include "spec/spec.h"

/*
 * Each field of a spec is one row of the tables in fields.c. The row gives its JSON in both
 * directions, its place in a comparison, its check, and says how to free it. A new field is a
 * member in spec.h and a row in fields.c. Only the files of this folder include this header.
 */

enum field_kind {
	FIELD_STR,     /* char *: NULL is left out */
	FIELD_STRV,    /* struct strv: an empty one is left out */
	FIELD_BOOL,    /* JSON without it means false */
	FIELD_UINT,    /* an unsigned integer of any size */
	FIELD_WORD,    /* an enum or a bool, written as one of n words */
	FIELD_SECTION, /* a struct in place, described by `of` */
	FIELD_LIST,    /* items described by `of`: behind a pointer, or in place when n is set */
	FIELD_CUSTOM,  /* an object with functions of its own: read, write and done */
};

struct spec_field;
typedef char *field_difference_fn(const struct spec_field *f, const void *live, const void *want,
				  struct strv *beyond);

struct spec_field {
	const char *key; /* in JSON */
	size_t at, size; /* of the member; numbers and words need the size */
	enum field_kind kind;
	/* The field may be absent from JSON; 0 and false are left out of it. A section is left out
	 * when its first field, which is a string, is NULL. */
	bool optional;
	/* A difference is reported as this one of spec_parts; 0: the field is not compared. A
	 * custom one that is compared has its own `difference`. */
	unsigned int part;
	bool shown; /* a difference shows both values */
	size_t n;   /* of the words; how many items have room in place */
	const char *const *words;
	/* Of a string: what JSON has in its place; gets the struct. NULL: the string itself. */
	const char *(*shown_as)(const void *item);
	const struct spec_table *of;
	size_t count_at; /* offset of a list's length */
	int (*check)(const char *what, const char *value, struct err *err); /* of a string */
	field_difference_fn *difference; /* instead of the one of its kind; gets both structs */
	/* Of FIELD_CUSTOM; `at` is the member. `done` may be NULL. */
	json_t *(*write)(const void *at);
	int (*read)(const json_t *j, void *at, struct err *err);
	void (*done)(void *at);
};

/* A struct and its rows, in the order of its JSON. */
struct spec_table {
	const struct spec_field *rows;
	size_t n_rows;
	size_t size;	/* of an item of a list */
	size_t name_at; /* of the string that names an item in a difference */
	bool unique;	/* a list holds one item of a name: a later one takes its place */
	int (*check)(const void *item, const struct sandbox_spec *whole, struct err *err);
};

extern const struct spec_table spec_table, spec_env_table, spec_mount_table;
extern const struct spec_table spec_credentials_table; /* a spec, but its credentials only */
/* Differences are looked for in this order, from 1; NULL at the end. */
extern const char *const spec_parts[];

static inline void *field_at(const struct spec_field *f, const void *item)
{
	return (char *)item + f->at;
}

static inline const char *field_str(const struct spec_field *f, const void *item)
{
	return *(char *const *)field_at(f, item);
}

static inline size_t *field_count(const struct spec_field *f, const void *item)
{
	return (size_t *)((char *)item + f->count_at);
}

uint64_t field_number(const struct spec_field *f, const void *item); /* bools and words as well */
void *field_items(const struct spec_field *f, const void *item);     /* the first of a list */
void field_set_items(const struct spec_field *f, void *item, void *items); /* not of an array */

static inline void *field_item(const struct spec_field *f, const void *item, size_t i)
{
	return (char *)field_items(f, item) + i * f->of->size;
}

/* Frees what an item holds, not the item. */
void table_done(const struct spec_table *t, void *item);
json_t *table_to_json(const struct spec_table *t, const void *item);
/* After an error the item is half filled: table_done() frees it. */
int table_from_json(const struct spec_table *t, const json_t *j, void *item, struct err *err);

/* json-rlimits.c: in the rlimits and n_rlimits of a struct spec_limits */
json_t *rlimits_to_json(const void *limits);
int rlimits_from_json(const json_t *j, void *limits, struct err *err);
/* difference.c */
field_difference_fn mount_difference, net_difference;
field_difference_fn field_difference; /* of any compared field; NULL: there is none */
bool item_same(const struct spec_field *list, const void *a, const void *b); /* two of its items */
bool mount_is_home(const struct sandbox_spec *s, const struct spec_mount *m);
bool mount_is_of_tree(const struct spec_mount *m);
