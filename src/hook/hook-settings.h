#pragma once

#include "base/buf.h"

#include <stdint.h>

/*
 * How an agent is told to ask ralph: the "hooks" of its settings, in the form of Claude Code, which
 * others have taken over. The commands name libexec/ralph/hook, which is static and needs nothing
 * but itself, so it runs in a sandbox as well as outside.
 */

/* Where a sandbox has the program; the spec binds it there, read-only. */
#define HOOK_INSIDE "/run/ralph/hook"

/*
 * The environment marker of a loop's agents. Its value is "PID-START", as .ralph/active of the
 * workspace has them: hook_loop_token() makes it. Without it every hook but pre-tool-use does
 * nothing.
 */
#define HOOK_LOOP_ENV "RALPH_LOOP"
char *hook_loop_token(uint64_t pid, uint64_t start);

enum hook_set {
	HOOK_SET_INSIDE, /* in a sandbox: what the loop wants to know; the sandbox is the wall */
	HOOK_SET_DIRECT, /* without one: pre-tool-use as well, and a tool it cannot judge is not run
			  */
};

/*
 * The value of "hooks", as JSON text: for build_input.hooks (managed settings) with HOOK_SET_INSIDE
 * and HOOK_INSIDE as the program.
 */
int hook_settings(struct buf *to, enum hook_set set, const char *program);
/*
 * A whole settings document, {"hooks": …}, for `claude --settings JSON`; program is
 * places_program(p, "hook"). A workspace that says "disableAllHooks" in its .claude/settings*.json
 * switches these off: whoever starts an agent with them has to refuse such a workspace. That the
 * agent writes it later is stopped by pre-tool-use.
 */
int hook_settings_document(struct buf *to, enum hook_set set, const char *program);
/* Does this text of a settings file switch hooks off? Unreadable counts as yes. */
bool hook_settings_disabled(const char *text, size_t len);
