#pragma once

#include "base/proc.h"
#include "base/strv.h"
#include "config/config.h"

/*
 * What runs a placement: its words with the placeholders filled in, and its environment. The words
 * that are filled in come from lists of work, so they are made of a-z, 0-9 and - alone.
 */
#define PLACE_LABEL_MAX 63 /* of {name}: Kubernetes takes no more */
#define PLACE_STDERR_MAX (4 * KiB)

struct place_words {
	char loop[PLACE_LABEL_MAX + 1], task[PLACE_LABEL_MAX + 1], name[PLACE_LABEL_MAX + 1];
	const char *host; /* NULL: the placement has none */
};

/* Fills in the words; title is the loop's branch, workspace its real path. Pure. */
void place_words(const char *title, const char *workspace, const char *task, unsigned epoch,
		 struct place_words *ret);
/* Appends the words of a command. Pure. */
void place_argv(const struct strv *command, const struct place_words *w, struct strv *ret);
/* Appends NAME=VALUE of the variables that a placement gets. Pure. */
void place_env(const struct config *c, const struct config_place *p, char *const *environ,
	       struct strv *ret);
