#pragma once

#include "cred/cred.h"

/*
 * Runs a program of the host's (secret-tool, gh, aws …) with the user's environment, found on the
 * user's PATH; `in` on its stdin, NULL for nothing. *ret_out (NULL: dropped) is its stdout without
 * the last line ends, to be wiped. -ENOENT: there is no such program.
 */
#define CRED_OUT_MAX (256 * KiB)
int cred_run(const struct cred_host *h, char *const argv[], const char *in, int timeout_ms,
	     char **ret_out, int *ret_code, struct err *err);
/* Every program of that name on the user's PATH, in its order. */
void cred_find_programs(const struct cred_host *h, const char *name, struct strv *ret);
/* The first of them; NULL when there is none. */
char *cred_find_program(const struct cred_host *h, const char *name);
