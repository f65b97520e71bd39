#pragma once

#include "base/buf.h"

/* Appends a word as a shell reads it back, quoted where that is needed. */
void quote_word(struct buf *b, const char *word);
