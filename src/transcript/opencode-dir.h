#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * opencode keeps its conversations in a database. libexec/ralph/opencode converts them to files,
 * and the directory of these files replaces the home. Nothing is converted when the state of the
 * database is still `before` (NULL: convert in any case). *ret_state is its state now, for the next
 * time; the caller frees it.
 *
 * scratch is a path in a directory of ralph's; it is created anew, and the caller removes it. The
 * result is a descriptor of it; -ENOENT: no database, or nothing new in it. If the database could
 * only be read in part, *ret_partly is set and err says why.
 */
int opencode_dir(int home, const char *program, const char *scratch, const char *before,
		 char **ret_state, bool *ret_partly, struct err *err);
