#pragma once

#include "base/json/json.h"
#include "repo/repo.h"

/* The request to repo-push-git.c. */
struct push {
	const char *state, *objects; /* directory for git's own repository; objects to borrow */
	const char *shallow;	     /* text of the repository's file of that name; NULL: none */
	const char *url, *oid, *branch;
	const char *path;	/* PATH for git and its helpers */
	const json_t *settings; /* {key: value} for its repository */
	int progress;
};

/* Runs git until it ends. */
int push_run(const struct push *p, struct err *err);
