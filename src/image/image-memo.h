#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"

/*
 * Small notes about images: PLACES/state/images/KIND/KEY.json, where KEY is the hash of the note's
 * subject. Losing a note only costs a pull or a build, so an unreadable note counts as missing.
 */

/* Returns NULL without a note. */
json_t *image_memo_get(const struct places *p, const char *kind, const char *about);
int image_memo_set(const struct places *p, const char *kind, const char *about, const json_t *note,
		   struct err *err);
/* Returns all notes of one kind, as an array. */
json_t *image_memos(const struct places *p, const char *kind);
