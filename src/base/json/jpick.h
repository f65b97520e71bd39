#pragma once

#include "base/buf.h"
#include "base/json/jscan.h"

/*
 * Looking into JSON that is whole in memory without building a tree of it: members are picked by
 * name and stay what they are in the text. Everything that was not asked for is only skipped, so a
 * large record costs little more than finding its quotes.
 */
struct jtext {
	const char *p; /* NULL: there is no such member */
	size_t n;
};

/*
 * Finds n members of an object; those that are not there have p == NULL, of several with one name
 * the last counts. false: it is no object, or torn. At most JPICK_MAX names.
 */
#define JPICK_MAX 24
bool jpick(struct jtext object, const char *const *names, struct jtext *ret, size_t n);
struct jtext jpick_one(struct jtext object, const char *name);

/* Goes through an array: *at begins as 0; false: it is over, or no array. */
bool jpick_each(struct jtext array, size_t *at, struct jtext *ret);

/* The same for the members of an object; the key comes without its quotes. */
bool jpick_member(struct jtext object, size_t *at, struct jtext *key, struct jtext *value);

static inline bool jtext_is_string(struct jtext t)
{
	return t.n && t.p[0] == '"';
}
static inline bool jtext_is_object(struct jtext t)
{
	return t.n && t.p[0] == '{';
}
static inline bool jtext_is_array(struct jtext t)
{
	return t.n && t.p[0] == '[';
}
bool jtext_eq(struct jtext t, const char *s); /* a string that says exactly this */
bool jtext_true(struct jtext t);
uint64_t jtext_uint(struct jtext t); /* 0 for everything that is no whole number */
/* Appends a string's text, at most max bytes of it, cut between characters; 1: it was cut. */
int jtext_append(struct jtext t, struct buf *to, size_t max);
char *jtext_dup(struct jtext t, size_t max); /* NULL when it is no string */
