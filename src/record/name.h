#pragma once

#include <stdbool.h>

#define NAME_LEN_MAX 63

/*
 * The name of a sandbox: agent-loop-AGENT-BRANCH, or agent-loop-AGENT-DIRECTORY where branch is
 * NULL; [a-z0-9-], at most NAME_LEN_MAX. Eight hex digits are put behind it whenever sanitising
 * or cutting changed anything, when the plain name already looks like one with digits behind it,
 * when the agent's own name holds a dash (else a-b + c and a + b-c were one name), or when
 * force_suffix says that another workspace has the plain name. The digits are a hash of the
 * workspace's identity together with agent and branch as they were before, so that two branches
 * of one workspace that sanitise alike differ too. Pure.
 */
char *name_make(const char *agent, const char *branch, const char *dir, const char *identity,
		bool force_suffix);

/* What -n NAME may be, and what a directory of the state may be called: [a-z0-9] first and last,
 * [a-z0-9-] between, at most NAME_LEN_MAX. */
bool name_valid(const char *name);
