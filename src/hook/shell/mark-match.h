#pragma once

#include <stdbool.h>

/*
 * True when a word with marks may be this text. MARK_ANY and MARK_STAR are any text; MARK_ONE is
 * any byte except a slash.
 */
bool pattern_may_be(const char *word, const char *text);

/*
 * Matches a path with marks against a pattern of ralph's: `*` is text without a slash, a double one
 * is any text. Globs of the word match as in a shell: no slash, and no dot at the start of a name.
 * Unknown text matches only a wildcard.
 */
bool pattern_path(const char *word, const char *pattern);
