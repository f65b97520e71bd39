#pragma once

#include "base/json/jpick.h"
#include "base/json/json.h"
#include "work/listing.h"

/* Between the files that read, mark and judge a prd.json. */
#define PRD_STORIES "userStories"

/* The whole document: from its brace on. A byte order mark and blanks may lead it. */
struct jtext prd_object(const char *text, size_t len);
int prd_parse(const char *text, size_t len, json_t **ret, struct err *err);
/* The story with this id, or one with p == NULL. */
struct jtext prd_story(struct jtext text, const char *id);
/* An id is a string or a whole number; the caller frees it. NULL: neither. */
char *prd_id(struct jtext value);

/* Sets one value of a story in *text, which has the new bytes afterwards. */
int prd_set(struct buf *text, const char *id, const char *key, const char *value);

/* What a word of "status" stands for; TASK_STATE_N: an unknown one. */
enum task_state prd_status(const char *word);
/* A word for it: one that the stories use, if they do. */
const char *prd_status_word(struct jtext text, enum task_state s);

int prd_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err);
void prd_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
	       struct proposals *ret);
int prd_apply(const char *text, size_t len, const char *id, const struct proposals *p,
	      struct buf *ret);
