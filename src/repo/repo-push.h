#pragma once

#include "base/json/json.h"
#include "repo/repo.h"

/* What git is to do, for repo-push-git.c. */
struct push {
	const char *state, *objects; /* where its own repository may be made; what it borrows */
	const char *shallow;	     /* text of the repository's file of that name; NULL: none */
	const char *url, *oid, *branch;
	const char *path;	/* where git and what it starts are looked for */
	const json_t *settings; /* {key: value} for its repository */
	int progress;
};

/* Runs it to the end. */
int push_run(const struct push *p, struct err *err);
