#pragma once

#include "compose/build.h"

/*
 * The user's identity and harmless settings of git, so that git works inside as it does outside.
 * They are read from the user's own files, by a list of keys, and stand inside in a file that git
 * reads first (GIT_CONFIG_SYSTEM): the repository's settings and those of the sandbox's home take
 * precedence, as on the host. A GIT_CONFIG_SYSTEM that the user sets replaces the file.
 */
void git_user(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git);
