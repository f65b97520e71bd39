#pragma once

#include <stdio.h>

#include "base/json/json.h"
#include "cli/frame/command.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * What `ralph diff` and `ralph apply` are about: a sandbox, or what is left in the repository of one
 * that was removed.
 */
struct held {
	struct places places;
	char *root; /* of the repository; NULL: the sandbox works in a clone */
	struct strv
		named; /* programs in its tree that settings of git name, see workspace/guard.h */
};

/* NAME of a sandbox; without one, of what the repository here holds under that name. */
int held_open(struct cli *cli, const char *name, struct held *ret);
void held_done(struct held *h);
/* Asks `repo`; see git_repo_ask(). The words are followed by what settings name. */
int held_ask(struct cli *cli, const struct held *h, const char *const *args, json_t **ret);

/* "lib: main" of a row of `repo held` or `repo settle`. */
void held_print_ref(const json_t *row, FILE *out);
/* The files of a row of `repo held` that the host runs, a line each. */
void held_print_protected(const json_t *row, const char *indent, FILE *out);

#define cleanup_held cleanup_(held_done)
