#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The paths of a workspace that the agent must not write: files that the host runs by itself when
 * its user works there (hooks, settings of git, of editors, of shells and of agents), and files
 * that say where those lie. Pure decisions about names; workspace/ looks at files.
 */

/* The directory that a path is relative to. */
enum protect_base {
	PROTECT_TREE,	  /* the workspace, or any directory in it */
	PROTECT_GIT,	  /* a git directory with everything of its own: .git, modules/NAME */
	PROTECT_WORKTREE, /* the git directory of a linked worktree: worktrees/NAME */
	PROTECT_BASE_N,
};

struct protect_rule {
	const char *path;	/* the last part may be a pattern of fnmatch(3) */
	const char *why;	/* the host's use of the path */
	const char *who, *when; /* the program that runs or reads it, and what makes it do so */
};

/* The rules of a base; they end with a row without path. */
const struct protect_rule *protect_rules(enum protect_base base);
/* Does the last part of this rule stand for several names? */
bool protect_is_pattern(const struct protect_rule *rule);
/*
 * The rule that a name in a directory meets, for walking trees: `parent` is the name of that
 * directory (".claude" for .claude/hooks, "" at the top). NULL: none.
 */
const struct protect_rule *protect_match(enum protect_base base, const char *parent,
					 const char *name);
/* Is this the name of a directory that holds protected names of the tree, as .claude does? */
bool protect_holds(const char *name);
/* The rule that a link of such a name meets; NULL: it is none. */
const struct protect_rule *protect_link(const char *name);

/*
 * Is a file of this name a secret that the agent is not to read? The patterns are read in order
 * and the last one that fits decides; "!PATTERN" takes back. A table of common
 * names comes first.
 */
bool protect_masked(const char *name, char *const *patterns, size_t n);

/*
 * May an agent of a loop change this protected path, relative to the workspace? Patterns are those
 * of fnmatch(3), or a directory with everything below it. Never git's own files or ralph's.
 */
bool protect_may_change(const char *path, char *const *patterns, size_t n);
/* Can one of the patterns mean something in this directory? */
bool protect_may_change_below(const char *dir, char *const *patterns, size_t n);
