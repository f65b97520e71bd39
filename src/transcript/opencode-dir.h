#pragma once

#include "base/err.h"
#include "base/json/json.h"

/*
 * opencode keeps its conversations in a database. libexec/ralph/opencode makes files of them, and
 * the directory they lie in takes the place of the home. Nothing is made where the database is as
 * it was the last time, which `known` remembers under this key; without one it is not looked at.
 *
 * scratch is a path in a directory of ours; it is made anew, and whoever has called this removes
 * it. The result is a descriptor of it; -ENOENT: no database, or nothing new in it. Where the
 * database could be read in part only, *ret_partly is set and err says why.
 */
int opencode_dir(int home, const char *program, const char *scratch, json_t *known, const char *key,
		 bool *ret_partly, struct err *err);
