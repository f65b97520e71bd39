#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"

/*
 * Small things to remember about images: PLACES/state/images/KIND/KEY.json, where KEY is the hash
 * of what the note is about. Losing one costs a pull or a build, never more, so what cannot be read
 * is as good as not there.
 */

/* NULL: there is none. */
json_t *image_memo_get(const struct places *p, const char *kind, const char *about);
int image_memo_set(const struct places *p, const char *kind, const char *about, const json_t *note,
		   struct err *err);
/* All of one kind, as an array. */
json_t *image_memos(const struct places *p, const char *kind);
