#pragma once

#include "cred/cred.h"

struct child; /* base/proc.h */

/* One run of a program of the host's. */
struct cred_call {
	char *const *argv; /* argv[0]: a path, or a name to be looked for on the user's PATH */
	const char *in;	   /* its stdin; NULL: nothing */
	int timeout_ms;
	/* Called every tick_ms while it runs, to keep a lock fresh; may be NULL. */
	void (*tick)(void *arg);
	void *arg;
	int tick_ms;
};

/* Its stdout goes into out, cut where that is full. The caller wipes out. */
int cred_call(const struct cred_host *h, const struct cred_call *c, struct buf *out, int *ret_code,
	      struct err *err);
/* Starts a program in this very process, whether there is a broker or not. in, out: -1 for none. */
int cred_start(const struct cred_host *h, char *const argv[], int in, int out, struct child *ret,
	       struct err *err);

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
