#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"

/*
 * The user's gh, run on the host: by its argument vector, in /, with an environment of what it
 * needs and nothing else, always with --repo, so that neither the workspace nor its configuration
 * has a say in it.
 */
struct gh_run {
	char *program; /* not one of the workspace's */
	char *repo;    /* [HOST/]OWNER/NAME */
};

int gh_run_init(const char *workspace, const char *repo, struct gh_run *ret, struct err *err);
void gh_run_done(struct gh_run *g);

/* [HOST/]OWNER/NAME of an address of a repository; NULL: it is none. The caller frees it. */
char *gh_repo_of(const char *url);
bool gh_repo_valid(const char *repo);

/* `gh issue ARG… --repo REPO`; input: its standard input, may be NULL. ret may be NULL. */
int gh_issue(const struct gh_run *g, const char *const *args, const struct buf *input, json_t **ret,
	     struct err *err);
