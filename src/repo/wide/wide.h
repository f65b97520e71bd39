#pragma once

#include "base/err.h"
#include "git/libgit.h"
#include "repo/wide/wide-names.h"
#include "workspace/gitdir.h"

#include <stdbool.h>

/*
 * Repositories with SHA-256, which libgit2 1.5 cannot open, for those who import into them. libgit2
 * does its work on names that are cut (wide-names.h); references are read and written here, and
 * objects are read by a git of the host. That git has a git directory of ralph's own, so it reads no
 * setting of anybody's; Landlock leaves it its own program and the object directories, and only the
 * one that indexes received packs may write, into a quarantine.
 *
 *	wide-names.c    names, and objects with the names cut
 *	wide-store.c    which objects are there, by looking
 *	wide-git.c      the two processes of git
 *	wide-odb.c      objects for libgit2
 *	wide-refs.c     references for libgit2
 */
struct wide;
struct repo_stream;

/* Does this repository name objects by SHA-256? -ENOTSUP: by something that nobody here knows. */
int wide_is(const char *common, bool *ret, struct err *err);
/*
 * Opens such a repository. Call it before this process gives up its rights: it starts the two
 * processes. *ret_wide outlives the repository and its objects; wide_free() after them.
 */
int wide_open(const char *path, const struct gitdir *git, git_repository **ret,
	      struct wide **ret_wide, struct err *err);
/* NULL works. Removes the quarantine. */
void wide_free(struct wide *w);

/* The quarantine, a directory of the repository's objects: packs are in pack/. */
const char *wide_quarantine(const struct wide *w);
/* As repo_stream_pack(); 1: ret_name names the files of the pack. */
int wide_take_pack(struct wide *w, struct repo_stream *s, char ret_name[WIDE_HEX + 1],
		   struct err *err);
/* The objects of that pack alone. */
int wide_received(struct wide *w, const char *name, git_odb **ret, struct err *err);

/* Its objects become the user's, one file each. */
int wide_unpack(struct wide *w, struct err *err);

/* NULL: nobody has said the rest of this name. */
const char *wide_hex(const struct wide *w, const git_oid *oid, char ret[WIDE_HEX + 1]);
bool wide_oid(const struct wide *w, const char *hex, git_oid *ret); /* from 64 digits */

/* Looks again which packs are there; then, is this object? */
int wide_look_again(struct wide *w, struct err *err);
bool wide_is_there(const struct wide *w, const git_oid *oid);
