#pragma once

#include "cli/settings.h"

/*
 * For a project that comes from a stranger: one line, once, which names an engine with a kernel of its
 * own. A project is a stranger's when it is a git repository with a remote "origin", its settings
 * were never trusted, and none of the latest commits is by the user's own address. It is a hint: an author
 * can put any address into commits.
 *
 * For where the user reads and answers: the caller sees to that. Says nothing where the user has chosen
 * an engine.
 */
void stranger_hint(const struct settings *s, const struct sandbox_spec *spec);
