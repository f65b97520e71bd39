#pragma once

/*
 * ROOM: hook
 *
 * Answers to agents' hooks: judges what a command would do without running it. It is a static
 * program, and needs no sandbox.
 */

#include "hook/input.h"

/* The four hooks. Each gets the input and the result of reading it, and returns the exit code. */
int hook_pre_tool_use(const struct hook_input *in, int read_error);
int hook_post_tool_use(const struct hook_input *in, int read_error);
int hook_stop(const struct hook_input *in, int read_error);
int hook_pre_compact(const struct hook_input *in, int read_error);

/* With this exit code, Claude Code does not run the tool, or does not stop. */
#define HOOK_EXIT_BLOCK 2

/* Prints a line on stderr, prefixed with the program's name. */
void hook_say(const char *fmt, ...) printf_like(1, 2);

/*
 * active-loop.c: true when the agent belongs to a loop of ralph. Outside a sandbox, the marker in
 * the environment must match the live loop in .ralph/active. In a sandbox, .ralph/active is hidden
 * and only ralph sets a command's environment, so the marker is enough.
 */
bool hook_in_loop(const char *cwd);

/* session.c: a number that the hooks of one session share. */
enum { SESSION_OVER = 100 }; /* instead of a percentage: the iteration must end */
unsigned int session_level(const char *session);
int session_set_level(const char *session, unsigned int level);
/* The number of the last refusal that the session was told of. */
uint64_t session_refused(const char *session);
int session_set_refused(const char *session, uint64_t number);

/* hook-refused.c: adds what the sandbox refused since the session was last told, and how to ask for it. */
void hook_put_refused(const char *session, struct buf *to);
