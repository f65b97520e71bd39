#pragma once

#include "base/err.h"

#include <stdbool.h>

struct workspace_input {
	const char *path; /* as the user wrote it; NULL: "." */
	const char *home; /* $HOME */
	const char *const
		*state; /* ralph's state, configuration, runtime directories; NULL at the end */
	/* All paths start at this directory; NULL means "/". A test gives its own tree, in which no
	 * link leads outside; the system directories are then looked for below it. */
	const char *root;
};

struct workspace {
	char *path;	/* real path */
	bool writable;	/* by this user; the caller warns when it is not */
	char *identity; /* hex SHA-256 of the real path: for names */
};

/*
 * The directory the sandbox may write to. Refused with exit 2 and the reason: what does not exist
 * or is no directory; /, $HOME, ralph's own directories, system directories, and everything that
 * contains one of these; what lies in ralph's directories or in a system directory; another
 * user's home as a whole; /tmp and /var/tmp themselves (a directory in them is fine). Every
 * spelling leads to the same answer: links are resolved first, on both sides.
 */
int workspace_resolve(const struct workspace_input *in, struct workspace *ret, struct err *err);
void workspace_done(struct workspace *w);
