#pragma once

#include "base/err.h"
#include "spec/spec.h"

/*
 * Opens the directory `path` for conversations, and makes it where it is missing. The path is the
 * user's, but in a tree that this sandbox writes its parts may be the agent's: there no link is
 * followed. spec may be NULL.
 */
int inbox_open(const struct sandbox_spec *spec, const char *path, struct err *err);
