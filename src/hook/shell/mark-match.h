#pragma once

#include <stdbool.h>

/*
 * May a word with marks be this text? MARK_ANY and MARK_STAR are any text, MARK_ONE is a byte but a
 * slash.
 */
bool pattern_may_be(const char *word, const char *text);

/*
 * A path with marks against a pattern of ours: `*` is text without a slash, a double one is any
 * text. Globs of the word fit what they may expand to, but as in a shell no slash, and no dot at
 * the start of a name; what is unknown fits only a wildcard.
 */
bool pattern_path(const char *word, const char *pattern);
