#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "git/libgit.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Imports commits from a clone in which an agent worked into the user's repository. It is a
 * separate program, so that only this one loads libgit2. It never opens the clone itself: git
 * inside the sandbox writes a stream (see docs/internals/workspace.md), and only that is read.
 *
 *	OID refs/heads/NAME     one line for each branch
 *	                        an empty line
 *	PACK…                   the objects that the user's repository does not have
 */
#define REPO_REFS_MAX 256

struct repo_ref {
	git_oid oid;
	char *name; /* "main": the part after refs/heads/ */
};

struct repo_taken {
	struct repo_ref refs[REPO_REFS_MAX];
	size_t n_refs;
};

/*
 * Reads the stream from fd. The objects go to pack_dir as one pack, which must be complete: every
 * referenced object is in it or in `odb`. Every branch must be a commit.
 */
int repo_take(int fd, git_odb *odb, const char *pack_dir, struct repo_taken *ret, struct err *err);
void repo_taken_done(struct repo_taken *t);

/* Lists what a person should review before a checkout; -ENOENT: no common ancestor. */
int repo_warnings(git_repository *repo, const git_oid *from, const git_oid *to, json_t *ret,
		  struct err *err);
/* Prints the diff of two commits to stdout; terminal: control characters are escaped. */
int repo_print_diff(git_repository *repo, const git_oid *from, const git_oid *to, bool stat,
		    bool terminal, struct err *err);
/* Finds the common ancestor; false: none. */
bool repo_base(git_repository *repo, const git_oid *a, const git_oid *b, git_oid *ret);
