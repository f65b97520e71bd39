#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * Runs `claude setup-token` on a terminal of its own that shows on this one, and takes the token
 * it prints. Both stdin and stdout are terminals. The token is to be wiped.
 */
int setup_token(char **ret, struct err *err);

/* The last token in what a terminal was sent, escape sequences and all; NULL when there is none. */
char *setup_token_find(const char *text, size_t n);
