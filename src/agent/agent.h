#pragma once

#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The coding agents ralph knows, one row each (table in agent.c). A row is data: what sandbox/
 * puts into a spec, what cli/ runs, what loop/ reads back. A new agent is a new row.
 */

/* A file made in the sandbox's home when it is not there, so that a first start asks nothing. */
struct agent_seed {
	const char *path;    /* below HOME */
	const char *content; /* {workspace}, {home}, {endpoint:NAME} are replaced */
	bool always;	     /* written anew at each start: it is ralph's, not the agent's */
};

/* A variable the agent needs, with the credential it is for; {phantom} and {endpoint} replaced. */
struct agent_env {
	const char *provider; /* row of cred/ that must have been found; NULL: always */
	const char *name, *value;
};

enum agent_transcript {
	AGENT_TRANSCRIPT_NONE,
	AGENT_TRANSCRIPT_CLAUDE,
	AGENT_TRANSCRIPT_CODEX,
	AGENT_TRANSCRIPT_GEMINI,
	AGENT_TRANSCRIPT_COPILOT,
	AGENT_TRANSCRIPT_OPENCODE,
};

struct agent {
	const char *name;		/* "claude" */
	const char *title;		/* "Claude Code" */
	const char *program;		/* found in PATH: "claude" */
	const char *install;		/* what to type when it is not there */
	const char *const *interactive; /* arguments; the user's follow */
	const char *const *headless; /* arguments of an unattended run; the prompt comes on stdin */
	const char *const *services; /* of cred/: "anthropic" … */
	const struct agent_env *env; /* ends with a NULL name */
	const struct agent_seed *seeds; /* ends with a NULL path */
	const char *const *state;	/* directories below HOME that are the agent's memory */
	const char *const *hosts;	/* patterns it needs besides its providers */
	const char *const *login_hosts; /* allowed only where no credential was found */
	enum agent_transcript transcript;
};

size_t agent_count(void);
const struct agent *agent_at(size_t i);
const struct agent *agent_find(const char *name); /* NULL: no such agent */
