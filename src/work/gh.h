#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"

/*
 * The user's gh, run on the host: by argument vector, in /, with a minimal environment and always
 * with --repo. So neither the workspace nor its configuration influences it.
 */
struct gh_run {
	char *program; /* never a program from the workspace */
	char *repo;    /* [HOST/]OWNER/NAME */
};

int gh_run_init(const char *workspace, const char *repo, struct gh_run *ret, struct err *err);
void gh_run_done(struct gh_run *g);

/* Returns [HOST/]OWNER/NAME for the address of a repository, else NULL. The caller frees it. */
char *gh_repo_of(const char *url);
bool gh_repo_valid(const char *repo);

/* Runs `gh issue ARG… --repo REPO`. input is its standard input; input and ret may be NULL. */
int gh_issue(const struct gh_run *g, const char *const *args, const struct buf *input, json_t **ret,
	     struct err *err);
