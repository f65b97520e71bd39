#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "git/libgit.h"

#include <stdbool.h>
#include <stddef.h>

/* Lists what a person should review before a checkout; -ENOENT: no common ancestor. */
int repo_warnings(git_repository *repo, const git_oid *from, const git_oid *to, json_t *ret,
		  struct err *err);
/* Prints the diff of two commits to stdout; terminal: control characters are escaped. */
int repo_print_diff(git_repository *repo, const git_oid *from, const git_oid *to, bool stat,
		    bool terminal, struct err *err);
/*
 * Prints how `now` differs from the file that HEAD has at this path, control characters escaped.
 * Nothing where HEAD has no such file, or the same one.
 */
int repo_print_file_diff(git_repository *repo, const char *path, const struct buf *now,
			 struct err *err);
/*
 * wide/host-git.c: git of the host as a real path, from the PATH without the tree of this repository. NULL: there
 * is none. The caller frees it.
 */
char *host_git_find(const char *root, const char *common);
/* Finds the common ancestor; false: none. */
bool repo_base(git_repository *repo, const git_oid *a, const git_oid *b, git_oid *ret);
