#pragma once

#include "base/buf.h"

#include <stdint.h>

/*
 * Settings that make an agent call ralph: the "hooks" of its settings, in the format of Claude
 * Code, which other agents share. The commands name libexec/ralph/hook, a static program without
 * dependencies, so it runs both inside and outside a sandbox.
 */

/* Path of the program in a sandbox; the spec binds it there, read-only. */
#define HOOK_INSIDE "/run/ralph/hook"

/*
 * Environment variable that marks a loop's agents. Its value is "PID-START", the values in
 * .ralph/active of the workspace: hook_loop_token() makes it. Without it every hook except
 * pre-tool-use does nothing.
 */
#define HOOK_LOOP_ENV "RALPH_LOOP"
char *hook_loop_token(uint64_t pid, uint64_t start);

enum hook_set {
	HOOK_SET_INSIDE, /* in a sandbox: hooks for the loop only; the sandbox itself protects */
	HOOK_SET_DIRECT, /* without one: pre-tool-use too; refuses tools it cannot judge */
};

/*
 * Writes the value of "hooks" as JSON text: for build_input.hooks (managed settings) with
 * HOOK_SET_INSIDE and HOOK_INSIDE as the program.
 */
int hook_settings(struct buf *to, enum hook_set set, const char *program);
/*
 * Writes a whole settings document, {"hooks": …}, for `claude --settings JSON`; program is
 * places_program(p, "hook"). A workspace with "disableAllHooks" in its .claude/settings*.json turns
 * these hooks off, so the caller must refuse such a workspace. pre-tool-use prevents the agent from
 * writing it later.
 */
int hook_settings_document(struct buf *to, enum hook_set set, const char *program);
/* True when this settings file turns hooks off. An unreadable text counts as true. */
bool hook_settings_disabled(const char *text, size_t len);
