#pragma once

#include <stdbool.h>

/*
 * The request in an agent's last message: <promise>COMPLETE</promise>,
 * <promise>BLOCKED:why</promise> or <promise>DECIDE:question</promise>, alone on its line. The last
 * one counts. A promise in the middle of a sentence does not count, because agents quote their
 * prompt.
 */
enum last_words_kind {
	LAST_WORDS_NONE,
	LAST_WORDS_COMPLETE,
	LAST_WORDS_BLOCKED,
	LAST_WORDS_DECIDE
};

#define LAST_WORDS_TEXT_MAX 2000

struct last_words {
	enum last_words_kind kind;
	char *text; /* why, or the question; NULL: none was given */
};

void last_words_find(const char *text, struct last_words *ret);
void last_words_done(struct last_words *p);
