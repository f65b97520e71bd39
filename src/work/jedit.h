#pragma once

#include "base/buf.h"
#include "base/json/jpick.h"

/*
 * Changes of single values in a JSON text; all other bytes stay as they are. The text is one that
 * json_parse() has taken: what is looked for is found by its name as written, without escapes.
 */

/*
 * Sets a member of `object`, which lies in text: replaces its value, or adds it behind the last
 * member, written as that one is. `value` is JSON. The new text is appended to ret, which must not
 * hold the old one.
 */
int jedit_set(struct jtext text, struct jtext object, const char *key, const char *value,
	      struct buf *ret);
