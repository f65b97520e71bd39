#pragma once

#include <stdbool.h>
#include <stddef.h>

/* For tools.c: where tool managers keep things, and where nothing may be taken from. */
struct tools_root {
	const char *path; /* relative to $HOME, or absolute */
	const char *what; /* for the reason */
	const char *also; /* another root it does not work without; NULL */
};

/* The root this path (relative to $HOME, or absolute) is in or is; false: none. */
bool tools_root_of(const char *path, struct tools_root *ret);
/* Does this path (relative to $HOME) lie in, equal or contain a place of credentials? */
bool tools_rel_is_private(const char *rel);
/* The i-th place of credentials, relative to $HOME; NULL behind the last. */
const char *tools_private_place(size_t i);
/* Does a file of this name look like a credential? */
bool tools_is_credential(const char *name);
/* Is there something at the top of this directory that looks like a credential? */
bool tools_has_credentials(const char *dir);
