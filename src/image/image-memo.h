#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"

/*
 * Memos, small facts about images: PLACES/state/images/KIND/KEY.json, where KEY is the hash of
 * the memo's subject. Losing a memo only costs a pull or a build, so an unreadable memo counts as
 * missing.
 */

/* Returns NULL without a memo. */
json_t *image_memo_get(const struct places *p, const char *kind, const char *about);
int image_memo_set(const struct places *p, const char *kind, const char *about, const json_t *memo,
		   struct err *err);
/* Returns all memos of one kind, as an array. */
json_t *image_memos(const struct places *p, const char *kind);
