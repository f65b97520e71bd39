#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Paths in trees that an agent made, as the host has to see them. File systems differ in what they
 * take for the same name (case, code points that do not count, what NTFS drops at the end), and a
 * commit travels: what would be .git or a protected name on one of them counts as that here.
 */

/* Would any file system take this name for .git? */
bool gitpath_is_dotgit(const char *name, size_t n);
/* Any part of it? Also parts that are no names: empty, ".", "..". */
bool gitpath_is_odd(const char *path);
/* Why this path is not the agent's to write (policy/protect.h); NULL: it is. */
const char *gitpath_protected(const char *path);
/* The same for a link, which would stand for a directory that holds protected names. */
const char *gitpath_protected_link(const char *path);
/*
 * Is it a program that settings of the user name (a row of guard_named_list()), or a link that would
 * stand for one? Modes are those of git, before and after.
 */
bool gitpath_is_named(const char *row, const char *path, unsigned was, unsigned is);
/* See protect_may_change(). */
bool gitpath_may_change(const char *path, char *const *patterns, size_t n);
/* Does it choose what git does with other files? */
bool gitpath_is_attributes(const char *path);
/* Is this a file of the tree that git itself reads (.gitmodules …)? */
bool gitpath_is_gits_own(const char *name);
/*
 * Does a link with this text, at this path of a tree, lead to something in the tree and not in
 * .git? Only by what it says: the way may lead over other links, which are looked at themselves.
 */
bool gitpath_link_stays(const char *path, const char *target, size_t n);
/* For messages: control characters, also those of two bytes, as \xNN; at most max bytes and "…"
 * then. The caller frees it. */
char *gitpath_shown(const char *p, size_t n, size_t max);
