#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A tree object of an agent's as bytes: is it one that git would make, and would git check it out?
 * libgit2 asks neither. In git's order, each name once, git's own modes, and no name that some file
 * system takes for .git, "." or "..".
 */
struct gittree_entry {
	const char *name; /* ends with a zero byte */
	size_t len;
	uint32_t mode;
	const unsigned char *id; /* id_len bytes */
};

#define GITTREE_DIR 0040000u
#define GITTREE_PROGRAM 0100755u
#define GITTREE_LINK 0120000u
#define GITTREE_COMMIT 0160000u /* a gitlink */

/* Not 0 ends the walk. */
typedef int gittree_fn(const struct gittree_entry *e, void *arg);

/*
 * NULL: it is good, as far as fn let it be read (*ret: what fn returned last). Else what is wrong,
 * with *ret_name, the entry's name, or NULL where the tree as a whole is. id_len: 20 or 32.
 */
const char *gittree_check(const char *bytes, size_t n, size_t id_len, gittree_fn *fn, void *arg,
			  int *ret, const char **ret_name);
