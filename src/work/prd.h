#pragma once

#include "base/json/jpick.h"
#include "base/json/json.h"
#include "work/listing.h"

/* Shared by the files that read, mark and judge a prd.json. */
#define PRD_STORIES "userStories"
/* Fields of a story that only the host writes. */
#define PRD_REVIEW_STATUS "reviewStatus"
#define PRD_REVIEW_COUNT "reviewCount"
#define PRD_REVIEW_FEEDBACK "reviewFeedback"

/* Returns the whole document, from its opening brace. A byte order mark and white space may
 * precede it. */
struct jtext prd_object(const char *text, size_t len);
int prd_parse(const char *text, size_t len, json_t **ret, struct err *err);
/* Returns the story with this id; p is NULL when there is none. */
struct jtext prd_story(struct jtext text, const char *id);
/* Returns an id, which may be a string or an integer; NULL for anything else. The caller frees
 * it. */
char *prd_id(struct jtext value);

/* Sets one value of a story in *text, which then holds the new bytes. */
int prd_set(struct buf *text, const char *id, const char *key, const char *value);

/* True when a review of the story is pending: it does not pass, whatever "passes" says. */
bool prd_review_pending(struct jtext story);

/* Returns the state for a word of "status"; TASK_STATE_N for an unknown one. */
enum task_state prd_status(const char *word);
/* Returns a word for the state, if possible one that the stories already use. */
const char *prd_status_word(struct jtext text, enum task_state s);

int prd_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err);
void prd_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
	       struct proposals *ret);
int prd_apply(const char *text, size_t len, const char *id, const struct proposals *p,
	      struct buf *ret);
