#pragma once

#include <stdbool.h>

/*
 * Does `name` in the directory `dir`, open as dirfd, lead into ralph's own state: a link, or a .git
 * file with a path? What a sandbox keeps there, its home above all, is the agent's, and no look
 * at the workspace sees it.
 */
bool state_link(int dirfd, const char *dir, const char *name, const char *state);
