#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "config/config.h"

/*
 * Profiles as files: NAME.yaml in the user's own directory, else among those that come with ralph.
 * The first line of a profile is its summary: "# NAME: what it is for".
 */
#define PROFILE_SUMMARY_MAX 200

struct profile_dirs {
	const char *user, *shipped; /* either may be absent, or NULL */
};

struct profile {
	char *name, *path;
	char *summary; /* "": it has none */
	bool shipped;
};

/* The error that there is no profile NAME: with the one that was meant, or what to do. */
int profile_unknown(const struct profile_dirs *dirs, const char *name, struct err *err);
/* Returns the path of profile NAME; NULL when there is none. */
char *profile_path(const struct profile_dirs *dirs, const char *name);
/* All that can be named, sorted; a user's own hides the shipped one of the same name. */
int profile_list(const struct profile_dirs *dirs, struct profile **ret, size_t *ret_n,
		 struct err *err);
void profile_list_free(struct profile *p, size_t n);

/* Reads NAME whole; an unknown or bad name is a usage error. */
int profile_read(const struct profile_dirs *dirs, const char *name, char **ret_path,
		 struct buf *ret_text, struct err *err);
/* Makes a new one of the user's own with this text; one that is there is not touched: exit 2. */
int profile_create(const char *user_dir, const char *name, const char *text, size_t len,
		   char **ret_path, struct err *err);
/* The text to begin with: every key with its default and what it means, commented out. */
char *profile_template(const char *name);
