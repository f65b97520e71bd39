#pragma once

#include "base/err.h"
#include "record/places.h"
#include "workspace/nested.h"

/*
 * The commits of a git directory that was put away, as git in a sandbox without network writes them
 * (repo/import/import.h has the form); the host opens nothing in it. dir: where its files are. *ret is a
 * file at its beginning.
 */
int adopt_stream(const struct places *p, const struct nested *n, const char *dir, int *ret,
		 struct err *err);
