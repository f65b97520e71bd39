#pragma once

#include "cred/hold/hold.h"

/*
 * The helper in two processes.
 *
 * DOC: Theory of operation
 *
 * The helper reads what the gateway asks and what token servers answer, and it holds the values. So
 * it gives up files, programs, processes and network before the first question. What it still needs
 * of the host, it has a broker do: a copy of itself from before it read anything but its set-up.
 * The broker reads one number from the helper at a time: the place of a program or a file in the
 * list of cred_needs, which both have. It starts that program with the two descriptors that came
 * along, opens that file, or replaces it by the memory file that came along. It looks into none of
 * them.
 *
 * The helper's end is the broker's, and the end of what it has started.
 */
struct cred_program {
	struct strv argv; /* as cred_call() is given it; empty: settings names it */
	char *settings;	  /* Claude Code's, with an apiKeyHelper; NULL: argv is all */
};

struct cred_needs {
	struct cred_program *programs;
	size_t n;
	struct strv files; /* to be opened for reading */
	struct strv saved; /* to be replaced */
	/* Directories that the helper keeps itself: to be listed, to be read, to hold locks. */
	struct strv listed, read, locks;
};

void cred_needs_done(struct cred_needs *n);
/* settings: the shell command is what this file names when it is to be run; else NULL. */
void cred_needs_program(struct cred_needs *n, char *const argv[], const char *settings);
/* One address to be asked, with the trust that goes with it. */
void cred_needs_fetch(struct cred_needs *n, const struct cred *c, const char *url);
/* The rest by the source: see cred_source_read(). */
void cred_needs_source(struct cred_needs *n, const struct cred *c);

/*
 * Forks the broker, confines this process, and makes h->broker. From here on nothing is reached but
 * what is in n, which must stay as it is. err: the helper must not go on.
 */
int cred_confine(struct cred_host *h, const struct cred_needs *n, struct err *err);
