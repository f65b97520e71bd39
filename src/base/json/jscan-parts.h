#pragma once

#include "base/json/jscan.h"

/* Between the scanner's own files. */
enum jscan_state {
	BETWEEN,     /* documents */
	VALUE,	     /* a value must come */
	FIRST_VALUE, /* a value or ] */
	KEY,	     /* a key must come */
	FIRST_KEY,   /* a key or } */
	COLON,
	AFTER, /* a value: , or the end of what is open */
	IN_KEY,
	IN_STRING,
	IN_NUMBER,
	IN_WORD,
	FAILED,
};

enum jscan_skip {
	SKIP_NOTHING,
	SKIP_VALUE,  /* of the key that was just given out */
	SKIP_NESTED, /* until what is open in it has closed */
	SKIP_STRING,
};

static inline enum jscan_token jscan_fail(struct jscan *j)
{
	j->state = FAILED;
	return JSCAN_ERROR;
}

static inline void jscan_value_over(struct jscan *j)
{
	j->state = j->depth ? AFTER : BETWEEN;
}

static inline bool jscan_space(struct jscan *j) /* false: the input is over */
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\r' || *j->p == '\t'))
		j->p++;
	return j->p < j->end;
}

/* jscan.c */
enum jscan_token jscan_structure(struct jscan *j, char c);
enum jscan_token jscan_ordinary(struct jscan *j);

/* jscan-text.c: the rest of what has begun */
enum jscan_token jscan_string(struct jscan *j);
enum jscan_token jscan_key(struct jscan *j);
enum jscan_token jscan_number(struct jscan *j);
enum jscan_token jscan_word(struct jscan *j);
bool jscan_is_number(const char *p);

/* jscan-skip.c */
enum jscan_token jscan_skipping(struct jscan *j);
