#pragma once

#include <stdbool.h>

/*
 * What an agent's last words ask for: <promise>COMPLETE</promise>, <promise>BLOCKED:why</promise>
 * or <promise>DECIDE:question</promise>, alone on its line. Of several the last counts. A promise
 * in the middle of a sentence is none: agents quote their prompt.
 */
enum promise_kind { PROMISE_NONE, PROMISE_COMPLETE, PROMISE_BLOCKED, PROMISE_DECIDE };

#define PROMISE_TEXT_MAX 2000

struct promise {
	enum promise_kind kind;
	char *text; /* why, or the question; NULL: none was given */
};

void promise_find(const char *text, struct promise *ret);
void promise_done(struct promise *p);
