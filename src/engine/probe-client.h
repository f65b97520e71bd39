#pragma once

#include "base/strv.h"
#include "engine/doctor-rows.h"

#include <stdbool.h>

/* A program of the host that an engine drives, and whether what is behind it answers. */
struct host_client {
	char *path;    /* NULL: not on PATH */
	char *version; /* of what answered; NULL when nothing did in time */
	bool answers;
};

/* The whole environment that such a program is run with: the variables by which it finds its daemon
 * and its storage, and nothing else. */
void host_client_env(struct strv *env);
/* args: without the program, NULL-terminated; they must change nothing. The last word of the first
 * line of the answer is the version. Takes a second at most. */
void host_client_ask(const char *program, const char *const *args, struct host_client *ret);
void host_client_done(struct host_client *c);
/* Its row of `ralph doctor`; remedy: for one that does not answer. */
void host_client_row(const struct host_client *c, const char *name, const char *use,
		     const char *remedy, struct doctor_rows *ret);
