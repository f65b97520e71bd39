#pragma once

#include "base/buf.h"
#include "base/json/jpick.h"

/*
 * Changes single values in a JSON text; all other bytes stay as they are. json_parse() must have
 * accepted the text. Names are matched as written, without escapes.
 */

/*
 * Sets a member of `object`, which lies in text: replaces its value, or adds it after the last
 * member, in the same layout. `value` is JSON. The new text is appended to ret, which must not hold
 * the old one.
 */
int jedit_set(struct jtext text, struct jtext object, const char *key, const char *value,
	      struct buf *ret);
