#pragma once

/*
 * ROOM: git
 *
 * The small library that both users of libgit2 share: starting it, and paths of a tree as the
 * host must see them. What the host does with a repository is repo's.
 */

#include "base/err.h"

#include <git2.h>

/*
 * libgit2 for those who work on a repository that an agent may have written to. It runs no hooks,
 * no filters but its own two (line ends, $Id$), no monitors, helpers or drivers; here it also reads
 * no settings but those it is handed.
 */
#define GITLIB_PACK_OBJECTS_MAX 4000000

/* Once in a process, before anything else of libgit2. */
void gitlib_start(void);
/* The same with the settings of the user, the system and the repository, for who reads those. */
void gitlib_start_open(void);
/* The last words of libgit2 as an error: "what: why". */
int gitlib_err(struct err *err, const char *what);

/* The tree of a commit. */
int gitlib_tree(git_repository *repo, const git_oid *commit, git_tree **ret, struct err *err);

#define GITLIB_CLEANUP(type, name)                                                                 \
	static inline void name##_freep(type **p)                                                  \
	{                                                                                          \
		name##_free(*p);                                                                   \
	}
GITLIB_CLEANUP(git_blob, git_blob)
GITLIB_CLEANUP(git_commit, git_commit)
GITLIB_CLEANUP(git_config, git_config)
GITLIB_CLEANUP(git_diff, git_diff)
GITLIB_CLEANUP(git_index, git_index)
GITLIB_CLEANUP(git_object, git_object)
GITLIB_CLEANUP(git_odb, git_odb)
GITLIB_CLEANUP(git_patch, git_patch)
GITLIB_CLEANUP(git_reference, git_reference)
GITLIB_CLEANUP(git_repository, git_repository)
GITLIB_CLEANUP(git_signature, git_signature)
GITLIB_CLEANUP(git_status_list, git_status_list)
GITLIB_CLEANUP(git_tree, git_tree)
GITLIB_CLEANUP(git_tree_entry, git_tree_entry)
/* cleanup_git(tree) git_tree *t = NULL; */
#define cleanup_git(type) cleanup_(git_##type##_freep)
