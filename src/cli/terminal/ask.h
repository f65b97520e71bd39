#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Questions to the user. None is ever asked where nobody could read or answer it. */

/* stdin and stderr are terminals. */
bool ask_possible(void);

/*
 * Writes the question with " [Y/n] " or " [y/N] " behind it and takes one line for the answer; an
 * empty one is the default. After another answer than yes or no it asks again; the end of the input
 * is no.
 */
int ask(const char *question, bool by_default, bool *ret_yes, struct err *err);
/* The same; the answer "?" calls show, and the question comes again. */
int ask_or_show(const char *question, bool by_default, int (*show)(void *arg), void *arg,
		bool *ret_yes, struct err *err);

/* The same with letters to choose from, the first one by default: "qks". The end of the input, or
 * nonsense, is the default. */
char ask_choice(const char *question, const char *letters);

/* Writes the prompt and takes one line; what does not fit is left out. "" at the end of the input. */
int ask_text(const char *prompt, char *out, size_t size, struct err *err);
