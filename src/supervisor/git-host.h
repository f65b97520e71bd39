#pragma once

#include "base/err.h"
#include "base/proc.h"

#include <stdbool.h>

/* The user's repository, for the broker; NULL where the workspace belongs to none. */
struct git_host;

int git_host_new(const char *workspace, struct git_host **ret, struct err *err);
const char *git_host_dir(const struct git_host *h);
const char *git_host_common(const struct git_host *h);

struct git_import {
	char *program; /* libexec/ralph/repo */
	const char *name;
	int record;
	bool may_switch; /* HEAD may follow */
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
int git_host_import(const struct git_host *h, const struct git_import *i, struct child *ret,
		    int ret_fds[GIT_IMPORT_FDS], struct err *err);
