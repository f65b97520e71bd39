#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME_LEN_MAX 63

/*
 * Makes the name of a sandbox: agent-loop-AGENT-BRANCH, or agent-loop-AGENT-DIRECTORY if branch is
 * NULL; [a-z0-9-], at most NAME_LEN_MAX. A suffix of eight hex digits is added if sanitising or
 * cutting changed anything, if the plain name already looks like one with a suffix, if the agent's
 * own name contains a dash (a-b + c and a + b-c would be the same), or if force_suffix says that
 * another workspace has the plain name. The digits are a hash of the workspace's identity with the
 * original agent and branch, so that two branches of one workspace that sanitise alike differ too.
 * Pure.
 */
char *name_make(const char *agent, const char *branch, const char *dir, const char *identity,
		bool force_suffix);

/* Keeps [a-z0-9-] of a text for a name, no dash at either end, at most max; "x": nothing is left. */
char *name_part(const char *text, size_t max);

/* Checks a name for -n NAME and for a directory of the state: [a-z0-9] first and last, [a-z0-9-]
 * between, at most NAME_LEN_MAX. */
bool name_valid(const char *name);
