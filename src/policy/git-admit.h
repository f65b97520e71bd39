#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

/*
 * The settings of the user's repository that the private git directory of a sandbox gets
 * (docs/internals/private-git.md): an allow-list of keys, and no URL with a user name, a password
 * or a query. What a sandbox may read of settings is decided here and nowhere else.
 */
struct git_admit {
	bool bare;	      /* core.bare, which the place decides and not the file */
	const char *worktree; /* core.worktree of a submodule; NULL: none */
};

/* Writes the admitted settings to out; -EINVAL: git would not read them either; -ENOBUFS. */
int git_admit_config(const char *text, size_t len, const struct git_admit *with, struct buf *out);

/*
 * The other way, what of an agent's settings may be the user's: where remotes are and what branches
 * follow. No key that names a program is among them, no URL that starts one, and no refspec of the
 * agent's.
 */
int git_admit_remotes(const char *text, size_t len, struct buf *out);

/*
 * The URL without what it says about a person: "https://me:key@host/x?token=y" becomes
 * "https://host/x". The user "git" of ssh is no person and stays. NULL: it cannot be told where the
 * user ends. The caller frees it.
 */
char *git_admit_url(const char *url);

/* Is this the full name of a reference ("refs/…") as git allows it? */
bool git_ref_is_valid(const char *name);
