#pragma once

#include "base/err.h"
#include "base/json/json.h"

/*
 * opencode keeps its conversations in a database. libexec/ralph/opencode converts them to files,
 * and the directory of these files replaces the home. Nothing is converted when the database is
 * unchanged since the last time, which `known` records under this key; without a key that is not
 * checked.
 *
 * scratch is a path in a directory of ralph's; it is created anew, and the caller removes it. The
 * result is a descriptor of it; -ENOENT: no database, or nothing new in it. If the database could
 * only be read in part, *ret_partly is set and err says why.
 */
int opencode_dir(int home, const char *program, const char *scratch, json_t *known, const char *key,
		 bool *ret_partly, struct err *err);
