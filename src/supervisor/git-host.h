#pragma once

#include "base/err.h"
#include "base/proc.h"

#include <stdbool.h>

/* The user's repository, for the broker. */
struct git_host;
struct spec_git;

int git_host_new(const struct spec_git *g, struct git_host **ret, struct err *err);

struct git_import {
	char *program; /* libexec/ralph/repo */
	const char *name;
	int record;
	bool may_switch; /* HEAD may follow */
	bool holds;	 /* nothing of the user's moves: a loop judges it first */
};

/*
 * What the user did to references since the sandbox was told last, as private_git_sync reads it: a
 * memory file; *ret stays as it is where there is nothing. again: all of it once more.
 */
int git_host_moved(struct git_host *h, const struct git_import *i, bool again, int *ret,
		   struct err *err);

/* For git inside: its stdin, its stdout; and what the import answers, up to its end. */
#define GIT_IMPORT_FDS 3

/* Starts an import that waits for the stream. */
int git_host_import(struct git_host *h, const struct git_import *i, struct child *ret,
		    int ret_fds[GIT_IMPORT_FDS], struct err *err);
bool git_host_has_imported(const struct git_host *h); /* or has begun to */
