#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A git configuration file as text: what it says. Nothing is expanded and no other file is read.
 */
struct gitconfig_entry {
	const char *section; /* lower case */
	const char *sub;     /* as it is written; NULL without one */
	const char *key;     /* lower case */
	const char *value;   /* NULL: the key alone, which means true */
};

/* Returns true to end the walk. */
typedef bool gitconfig_fn(const struct gitconfig_entry *e, void *arg);

/* Every entry in order: 0, 1 when fn ended it, -EINVAL for what git would not take either. */
int gitconfig_each(const char *text, size_t len, gitconfig_fn *fn, void *arg);

/* The value that counts, the last one; NULL when there is none. The caller frees it. */
char *gitconfig_get(const char *text, size_t len, const char *section, const char *key);

/* Would git run something by this one, or take further settings from elsewhere? */
bool gitconfig_entry_runs(const struct gitconfig_entry *e);
