#pragma once

#include "spec/spec.h"

/*
 * Where the host's programs for a sandbox are looked for: the directories of path that are absolute
 * and that the sandbox cannot write. A PATH often begins with directories of the workspace, and
 * what is in there the sandbox may have put there.
 */
char *search_path(const struct sandbox_spec *spec, const char *path);
