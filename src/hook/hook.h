#pragma once

/*
 * ROOM: hook
 *
 * Answers to agents' hooks: what a command would do, judged without running it. A static
 * program; no sandbox of ralph's is needed.
 */

#include "hook/input.h"

/* The four hooks. Each gets what was read and how reading ended, and returns the exit code. */
int hook_pre_tool_use(const struct hook_input *in, int read_error);
int hook_post_tool_use(const struct hook_input *in, int read_error);
int hook_stop(const struct hook_input *in, int read_error);
int hook_pre_compact(const struct hook_input *in, int read_error);

/* Claude Code runs no tool, or goes on, when a hook ends with this. */
#define HOOK_EXIT_BLOCK 2

/* A line on stderr, with our name before it. */
void hook_say(const char *fmt, ...) printf_like(1, 2);

/*
 * active-loop.c: is this agent one of ralph's own loop? Outside, the marker in the environment must
 * be that of the loop that .ralph/active names, and that must live; in a sandbox, where
 * .ralph/active is hidden and only ralph sets the environment of a command, the marker is enough.
 */
bool hook_in_loop(const char *cwd);

/* session.c: a number kept for a session between its hooks. */
enum { SESSION_OVER = 100 }; /* instead of a percentage: the iteration is to end */
unsigned int session_level(const char *session);
int session_set_level(const char *session, unsigned int level);
